# SPDX-License-Identifier: Apache-2.0
# weir_folder(TARGET FOLDER [COMMANDS source...] [SOURCES source...])
# adds sources of apps/FOLDER to TARGET. The calls of a program stand in the order in which its folders may include each other,
# lowest first; test/project/includes_test.py reads them, and fails on an include that goes up. COMMANDS are compiled each for itself,
# also where others are several at once (WEIR_UNITY): each has its own `me`, `Options` and more of the same names.
function(weir_folder target folder)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "COMMANDS;SOURCES")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "weir_folder(${target} ${folder}): unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  foreach(file IN LISTS arg_COMMANDS arg_SOURCES)
    target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/apps/${folder}/${file})
  endforeach()
  foreach(file IN LISTS arg_COMMANDS)
    set_source_files_properties(${PROJECT_SOURCE_DIR}/apps/${folder}/${file} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endforeach()
endfunction()
