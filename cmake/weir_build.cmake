# SPDX-License-Identifier: Apache-2.0
# How every target of weir is compiled: C++23, warnings, sanitizers. Warnings are errors only where
# a preset of ours asks for it, never for those who build weir inside their own project.
option(WEIR_WARNINGS_AS_ERRORS "Treat compiler warnings as errors" OFF)
option(WEIR_TESTS "Build the tests" ON)
option(WEIR_BENCHES "Build the benchmarks" ON)
option(WEIR_FUZZERS "Build the fuzz targets" ON)
option(WEIR_PROGRAM "Build the program weir beside the libraries" ON)
option(WEIR_BINDINGS "Build the checksums for C, zlib's programs, XRootD and Python" ON)
option(WEIR_PCH "Precompile what most sources of a library include: builds are faster, and a missing include is not seen" OFF)
option(WEIR_UNITY "Compile several sources of a library at once: a build from nothing takes half the time, a missing include is not seen" OFF)
option(WEIR_FUZZ_ENGINE "Link fuzz targets with libFuzzer (clang); otherwise they replay files" OFF)
set(WEIR_SANITIZE "" CACHE STRING "Sanitizers for -fsanitize=, for example address,undefined or thread")

if(NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
  message(FATAL_ERROR "weir runs on Linux only (this is ${CMAKE_SYSTEM_NAME})")
endif()
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)

find_program(WEIR_CCACHE ccache)
if(WEIR_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${WEIR_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${WEIR_CCACHE})
endif()

include(GNUInstallDirs)
# What the program starts or becomes lies where it lies when installed, seen from bin/.
set(weir_libexec_output ${PROJECT_BINARY_DIR}/${CMAKE_INSTALL_LIBEXECDIR}/weir)
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(fmt REQUIRED)
if(WEIR_TESTS)
  enable_testing()
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()
if(WEIR_BENCHES)
  find_package(benchmark REQUIRED)
endif()

# With WEIR_UNITY, sources of the target are compiled forty at once: the standard library's headers are read once for them.
function(weir_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${WEIR_UNITY} UNITY_BUILD_BATCH_SIZE 40)
endfunction()

# The flags of our own targets, kept apart from what is installed.
add_library(weir_build_flags INTERFACE)
target_compile_options(weir_build_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast -Wnon-virtual-dtor
  -Woverloaded-virtual -Wcast-align -Wunused -Wnull-dereference
  $<$<BOOL:${WEIR_WARNINGS_AS_ERRORS}>:-Werror>)
# A source that is compiled together with others looks like a header, its anonymous namespace like that of all.
target_compile_options(weir_build_flags INTERFACE $<$<BOOL:${WEIR_UNITY}>:-Wno-shadow>
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<BOOL:${WEIR_UNITY}>>:-Wno-subobject-linkage>)
# What g++ 12 gets wrong inside its own standard library when it optimises (std::string, std::expected).
target_compile_options(weir_build_flags INTERFACE
  $<$<CXX_COMPILER_ID:GNU>:-Wno-null-dereference;-Wno-restrict;-Wno-maybe-uninitialized>)
# No path of the building machine in what is installed. (Tests keep theirs: they look for data beside the sources.)
set(weir_installed_flags -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
# Code that is not hot (commands, tests, fuzz targets, libraries that hardly work for each event): little optimisation, short builds; with clang's sanitizers none,
# where what is looked at, the libraries, keeps its own. (Without any, g++'s intrinsics are macros, which some tests define.)
if(WEIR_SANITIZE AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  set(weir_cold_flags -O0)
else()
  set(weir_cold_flags $<$<NOT:$<CONFIG:Debug>>:-O1>)
endif()
# What most sources of a library include, for WEIR_PCH. The dev preset is built without, so that a missing include shows.
set(weir_common_headers)
foreach(header algorithm chrono condition_variable expected filesystem functional map memory mutex optional span string
               string_view thread vector fmt/format.h)
  list(APPEND weir_common_headers "$<$<COMPILE_LANGUAGE:CXX>:<${header}$<ANGLE-R>>")
endforeach()
if(WEIR_SANITIZE)
  add_compile_options(-fsanitize=${WEIR_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${WEIR_SANITIZE})
endif()
if(WEIR_FUZZ_ENGINE)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "WEIR_FUZZ_ENGINE needs clang (the presets asan and fuzz set it)")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
