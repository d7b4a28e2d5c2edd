include(CMakePackageConfigHelpers)
set(ulpscope_components formats)
if(ULP_BUILD_CLI)
  list(APPEND ulpscope_components model io ask report train analysis)
endif()
configure_package_config_file(cmake/ulpscope-config.cmake.in ulpscope-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ulpscope)
write_basic_package_version_file(ulpscope-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${CMAKE_CURRENT_BINARY_DIR}/ulpscope-config.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/ulpscope-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ulpscope COMPONENT dev)
# For those without CMake; relative to its own place, so that an installation can be moved.
file(RELATIVE_PATH ULP_PREFIX_FROM_PC ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/ulp-formats.pc.in ulp-formats.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/ulp-formats.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
# So that find_package takes the build folder, too.
export(EXPORT ulpscope-build-targets NAMESPACE ulp:: FILE ulpscope-build-targets.cmake)
export(EXPORT ulpscope-formats-targets NAMESPACE ulp:: FILE ulpscope-formats-targets.cmake)
if(ULP_BUILD_CLI)
  configure_file(cmake/Findre2.cmake Findre2.cmake COPYONLY)
  export(EXPORT ulpscope-targets NAMESPACE ulp:: FILE ulpscope-targets.cmake)
endif()

install(EXPORT ulpscope-formats-targets NAMESPACE ulp:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ulpscope COMPONENT dev)
if(ULP_BUILD_CLI)
  install(FILES cmake/Findre2.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ulpscope COMPONENT dev)
  install(EXPORT ulpscope-targets NAMESPACE ulp:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ulpscope COMPONENT dev)
endif()
