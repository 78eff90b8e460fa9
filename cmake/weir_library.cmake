# SPDX-License-Identifier: Apache-2.0
include(weir_headers)

# weir_layer(NAME...) adds the libraries lib/NAME. The calls stand lowest first: a library depends on libraries of the
# layers below its own, never on a neighbour.
function(weir_layer)
  set_property(GLOBAL PROPERTY WEIR_LAYER ${ARGN})
  foreach(library IN LISTS ARGN)
    add_subdirectory(lib/${library})
  endforeach()
endfunction()

# weir_library(NAME
#   [DEPENDS lib...]            libraries of weir that its headers and sources include
#   [USES target...]            libraries from outside, needed to compile against us
#   [USES_PRIVATE target...]    libraries from outside that only the sources need
#   HEADERS ... [SOURCES ...] [TESTS ...] [BENCHES ...] [FUZZERS ...]
#   [TESTING ...]               sources below testing/src of weir::NAME_testing, with headers below testing/include:
#                               what the tests of other libraries need of this one; never installed
#   [TESTS_USE target...]       what only the tests need
#   [KERNELS]                   each source is for itself, also with WEIR_UNITY
#   [COLD])                     what each event costs is elsewhere: little optimisation, short builds
# Paths are short: HEADERS below include/weir/NAME, SOURCES below src (from where they include each other), TESTS below
# test, BENCHES below bench, FUZZERS below fuzz. The library is weir::NAME; a test file test/x_test.cpp is part of the
# program NAME_test; a bench or fuzz file is a program of its own. Tests, benches and fuzzers may include from src. Only
# what is listed in DEPENDS can be included, so an arrow that goes up or sideways does not compile. HEADERS are what others
# use (weir_headers.cmake).
function(weir_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "KERNELS;COLD" "" "DEPENDS;USES;USES_PRIVATE;HEADERS;SOURCES;TESTS;BENCHES;FUZZERS;TESTING;TESTS_USE")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "weir_library(${name}): unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT SKBUILD)  # SKBUILD: those who use a header are not there
    weir_used_headers(${name} ${arg_HEADERS})
  endif()
  get_property(below GLOBAL PROPERTY WEIR_LIBRARIES)
  get_property(neighbours GLOBAL PROPERTY WEIR_LAYER)
  foreach(lower IN LISTS arg_DEPENDS)
    if(NOT lower IN_LIST below OR lower IN_LIST neighbours)
      message(FATAL_ERROR "weir_library(${name}): lib/${lower} does not stand below it (weir_layer() in CMakeLists.txt)")
    endif()
  endforeach()
  set(target weir_${name})
  set(depends ${arg_DEPENDS})
  list(TRANSFORM depends PREPEND weir::)
  list(TRANSFORM arg_HEADERS PREPEND include/weir/${name}/)
  list(TRANSFORM arg_SOURCES PREPEND src/)

  if(arg_SOURCES)
    add_library(${target} STATIC ${arg_SOURCES})
    set(scope PUBLIC)
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:weir_build_flags> ${arg_USES_PRIVATE})
    target_include_directories(${target} PRIVATE src)
    target_compile_options(${target} PRIVATE ${weir_installed_flags} $<$<BOOL:${arg_COLD}>:${weir_cold_flags}>)
    list(LENGTH arg_SOURCES files)
    if(WEIR_UNITY AND NOT arg_KERNELS)
      weir_unity(${target})
      set(files 0)  # too few of them to pay for a precompiled header
    endif()
    if(WEIR_PCH AND files GREATER 5)
      target_precompile_headers(${target} PRIVATE ${weir_common_headers})
    endif()
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  add_library(weir::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(${target} ${scope} cxx_std_23)
  target_link_libraries(${target} ${scope} ${depends} ${arg_USES} Threads::Threads)
  target_sources(${target} ${scope} FILE_SET HEADERS BASE_DIRS include FILES ${arg_HEADERS})
  install(TARGETS ${target} EXPORT weir-targets FILE_SET HEADERS)
  set_property(GLOBAL APPEND PROPERTY WEIR_LIBRARIES ${name})
  set_property(GLOBAL PROPERTY WEIR_DEPENDS_${name} ${arg_DEPENDS})

  if(WEIR_TESTS AND arg_TESTING)
    list(TRANSFORM arg_TESTING PREPEND testing/src/)
    add_library(${target}_testing STATIC ${arg_TESTING})
    add_library(weir::${name}_testing ALIAS ${target}_testing)
    target_include_directories(${target}_testing PUBLIC testing/include)
    target_link_libraries(${target}_testing PUBLIC weir::${name} PRIVATE weir_build_flags)
    target_compile_options(${target}_testing PRIVATE ${weir_cold_flags})
  endif()
  if(WEIR_TESTS AND arg_TESTS)
    list(TRANSFORM arg_TESTS PREPEND test/)
    add_executable(${name}_test ${arg_TESTS})
    target_link_libraries(${name}_test PRIVATE weir::${name} weir_build_flags ${arg_USES_PRIVATE} ${arg_TESTS_USE}
                          GTest::gtest_main GTest::gmock)
    target_include_directories(${name}_test PRIVATE src test)
    target_compile_options(${name}_test PRIVATE ${weir_cold_flags})
    target_precompile_headers(${name}_test PRIVATE <gtest/gtest.h> $<$<BOOL:${WEIR_PCH}>:${weir_common_headers}>)
    target_compile_definitions(${name}_test PRIVATE WEIR_TEST_VECTORS="${CMAKE_CURRENT_SOURCE_DIR}/test/vectors")
    gtest_discover_tests(${name}_test TEST_PREFIX ${name}. DISCOVERY_MODE PRE_TEST
                         PROPERTIES TIMEOUT 120)
  endif()
  if(WEIR_BENCHES)
    foreach(file ${arg_BENCHES})
      cmake_path(GET file STEM stem)
      add_executable(${stem} bench/${file})
      target_link_libraries(${stem} PRIVATE weir::${name} weir_build_flags ${arg_USES_PRIVATE} benchmark::benchmark)
      target_include_directories(${stem} PRIVATE src)
      if(WEIR_TESTS)  # at a tiny size, so that it cannot rot
        add_test(NAME bench.${stem} COMMAND ${stem} --benchmark_min_time=0.001)
        set_tests_properties(bench.${stem} PROPERTIES TIMEOUT 120 LABELS bench)
      endif()
    endforeach()
  endif()
  if(WEIR_FUZZERS)
    foreach(file ${arg_FUZZERS})
      cmake_path(GET file STEM stem)
      set(corpus ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/corpus/${stem})
      add_executable(${stem} fuzz/${file})
      target_link_libraries(${stem} PRIVATE weir::${name} weir_build_flags)
      target_include_directories(${stem} PRIVATE src)
      target_compile_options(${stem} PRIVATE ${weir_cold_flags})
      if(WEIR_FUZZ_ENGINE)
        target_link_options(${stem} PRIVATE -fsanitize=fuzzer)
        set_property(GLOBAL APPEND PROPERTY WEIR_FUZZ_PROGRAMS ${stem})
      else()
        target_sources(${stem} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/fuzz_replay.cpp)
        if(WEIR_TESTS)  # the fuzz target runs over its corpus and fixed pseudo-random bytes
          add_test(NAME fuzz.${stem} COMMAND ${stem} ${corpus})
          set_tests_properties(fuzz.${stem} PROPERTIES TIMEOUT 120 LABELS fuzz)
        endif()
      endif()
    endforeach()
  endif()
endfunction()
