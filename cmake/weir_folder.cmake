# SPDX-License-Identifier: Apache-2.0
# weir_folder(TARGET FOLDER source...)
# adds sources of apps/FOLDER to TARGET. The calls of a program stand in the order in which its folders may include each other,
# lowest first; test/project/includes_test.py reads them, and fails on an include that goes up.
function(weir_folder target folder)
  foreach(file IN LISTS ARGN)
    target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/apps/${folder}/${file})
  endforeach()
endfunction()
