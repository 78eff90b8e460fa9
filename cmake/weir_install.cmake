# SPDX-License-Identifier: Apache-2.0
# How others find an installed weir: as CMake targets, find_package(weir COMPONENTS delivery) and
# weir::delivery, and by pkg-config, one weir-LIBRARY.pc each. The libraries are static, so a program that
# links one also links what only its sources use; both kinds of file are made here from what the
# targets themselves state, and a component asks for its own dependencies only.
#
include(CMakePackageConfigHelpers)
get_property(weir_libraries GLOBAL PROPERTY WEIR_LIBRARIES)

# weir_outside(TARGET FIND PC): a target from outside, the line of weirConfig.cmake that finds it
# again, and what a .pc file has for it: a module to require, linker flags, or nothing (headers only).
function(weir_outside target find pc)
  set_property(GLOBAL PROPERTY "WEIR_OUTSIDE_${target}" "${find}" "${pc}")
endfunction()

weir_outside(Threads::Threads "find_dependency(Threads)" -pthread)
weir_outside(fmt::fmt "find_dependency(fmt)" fmt)
weir_outside(spdlog::spdlog "find_dependency(spdlog)" spdlog)
weir_outside(ZLIB::ZLIB "find_dependency(ZLIB)" zlib)
weir_outside(OpenSSL::Crypto "find_dependency(OpenSSL COMPONENTS Crypto)" libcrypto)
weir_outside(OpenSSL::SSL "find_dependency(OpenSSL COMPONENTS SSL)" libssl)
weir_outside(SQLite::SQLite3 "find_dependency(SQLite3)" sqlite3)
weir_outside(tomlplusplus::tomlplusplus "find_dependency(tomlplusplus)" tomlplusplus)
weir_outside(spdlog::spdlog_header_only "find_dependency(spdlog)" spdlog)
weir_outside(CLI11::CLI11 "find_dependency(CLI11)" CLI11)
weir_outside(Boost::headers "find_dependency(Boost)" "")
weir_outside(Boost::boost "find_dependency(Boost)" "")
weir_outside(prometheus-cpp::core "find_dependency(prometheus-cpp)" prometheus-cpp-core)

# What find_package and pkg-config must bring for one library; sets `finds`, `requires` and `flags`.
function(weir_outside_of library)
  set(finds)
  set(requires)
  set(flags)
  set(items)
  foreach(property LINK_LIBRARIES INTERFACE_LINK_LIBRARIES)
    get_target_property(value weir_${library} ${property})
    if(value)
      list(APPEND items ${value})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES items)
  foreach(item IN LISTS items)
    string(REGEX REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1" item "${item}")
    if(item MATCHES "^weir::|^weir_|^\\$<BUILD_INTERFACE:|^$")
      continue()
    endif()
    get_property(known GLOBAL PROPERTY "WEIR_OUTSIDE_${item}")
    if(item MATCHES "^PkgConfig::(.+)$")  # pkg_check_modules(NAME ...) keeps what it looked for
      set(module ${${CMAKE_MATCH_1}_MODULE_NAME})
      if(module)
        set(known "weir_find_module(${CMAKE_MATCH_1} ${module})" ${module})
      endif()
    endif()
    if(NOT known AND NOT TARGET ${item} AND item MATCHES "^[A-Za-z0-9_+.-]+$")  # a bare name: -luring
      list(APPEND flags "-l${item}")
      continue()
    elseif(NOT known)
      message(FATAL_ERROR "weir_install: lib/${library} links ${item}, and it is not stated how an installed "
                          "weir finds it again; add it to the list in cmake/weir_install.cmake")
    endif()
    list(GET known 0 find)
    list(GET known 1 pc)
    list(APPEND finds "${find}")
    if(pc MATCHES "^-")
      list(APPEND flags "${pc}")
    elseif(pc)
      list(APPEND requires "${pc}")
    endif()
  endforeach()
  foreach(name finds requires flags)
    list(REMOVE_DUPLICATES ${name})
    set(${name} "${${name}}" PARENT_SCOPE)
  endforeach()
endfunction()

# Both kinds of file find their prefix from where they lie, so an installed tree may be moved.
file(RELATIVE_PATH weir_pc_up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" weir_pc_up "${weir_pc_up}")

set(weir_needs)  # the body of weirConfig.cmake: per library, its neighbours below and its finds
foreach(library IN LISTS weir_libraries)
  get_property(below GLOBAL PROPERTY WEIR_DEPENDS_${library})
  weir_outside_of(${library})

  string(APPEND weir_needs "macro(weir_need_${library})\n")
  foreach(lower IN LISTS below)
    string(APPEND weir_needs "  weir_need(${lower})\n")
  endforeach()
  foreach(find IN LISTS finds)
    string(APPEND weir_needs "  ${find}\n")
  endforeach()
  string(APPEND weir_needs "endmacro()\n")

  # Requires, not Requires.private: there is no shared library that would bring the rest along. The
  # C++ runtime stands there so that a C program can be linked by the C compiler.
  list(TRANSFORM below PREPEND weir-)
  list(APPEND below ${requires})
  list(JOIN below ", " weir_pc_requires)
  get_target_property(type weir_${library} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    list(PREPEND flags "-lweir_${library}")
  endif()
  list(APPEND flags -lstdc++ -lm)
  list(JOIN flags " " weir_pc_libs)
  set(weir_pc_name ${library})
  configure_file(${CMAKE_CURRENT_LIST_DIR}/weir.pc.in ${PROJECT_BINARY_DIR}/pkgconfig/weir-${library}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/pkgconfig/weir-${library}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

# The faces of bindings/: shared libraries with all they need inside or recorded in them.
get_property(weir_faces GLOBAL PROPERTY WEIR_FACES)
foreach(face IN LISTS weir_faces)
  string(APPEND weir_needs "macro(weir_need_${face})\nendmacro()\n")
  get_target_property(weir_pc_name weir_${face} OUTPUT_NAME)  # weir.pc is for libweir.so
  get_property(weir_pc_description GLOBAL PROPERTY WEIR_FACE_DESCRIPTION_${face})
  configure_file(${CMAKE_CURRENT_LIST_DIR}/weir-face.pc.in ${PROJECT_BINARY_DIR}/pkgconfig/${weir_pc_name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/pkgconfig/${weir_pc_name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
          COMPONENT ${face})
endforeach()
list(APPEND weir_libraries ${weir_faces})

set(weir_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/weir)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/weirConfig.cmake.in ${PROJECT_BINARY_DIR}/weirConfig.cmake
                              INSTALL_DESTINATION ${weir_cmake_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/weirConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/weirConfig.cmake ${PROJECT_BINARY_DIR}/weirConfigVersion.cmake
        DESTINATION ${weir_cmake_dir})
install(EXPORT weir-targets NAMESPACE weir:: DESTINATION ${weir_cmake_dir})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/weir)
if(TARGET weir)
  install(TARGETS weir RUNTIME)
  install(FILES ${PROJECT_SOURCE_DIR}/monitoring/weir.rules.yml ${PROJECT_SOURCE_DIR}/monitoring/prometheus.example.yml
                ${PROJECT_SOURCE_DIR}/monitoring/alertmanager.example.yml
          DESTINATION ${CMAKE_INSTALL_DATADIR}/weir/monitoring)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/monitoring/grafana DESTINATION ${CMAKE_INSTALL_DATADIR}/weir/monitoring)
  install(PROGRAMS ${PROJECT_SOURCE_DIR}/monitoring/webhook DESTINATION ${CMAKE_INSTALL_DATADIR}/weir/monitoring)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/monitoring/notify DESTINATION ${CMAKE_INSTALL_DATADIR}/weir/monitoring
          USE_SOURCE_PERMISSIONS)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/alerts DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/weir)
endif()

# What must be there before anything is installed; the root's first install rule looks.
set(weir_installed)
foreach(target IN LISTS weir_libraries ITEMS weir weir_whole weir-bench weir-bench-front-end weir-bench-triggers weir-selection-worker weir-trigger-worker weir-front-end-worker weir-monitor-worker xrdcks handoff_xrootd)
  if(TARGET weir_${target})
    set(target weir_${target})
  endif()
  if(TARGET ${target})
    get_target_property(type ${target} TYPE)
    if(NOT type STREQUAL "INTERFACE_LIBRARY")
      list(APPEND weir_installed $<TARGET_FILE:${target}>)
    endif()
  endif()
endforeach()
list(JOIN weir_installed "\n" weir_installed)
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/installed_files.txt CONTENT "${weir_installed}\n")
