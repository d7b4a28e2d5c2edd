# ULP_COMMIT: the commit that is configured, "-dirty" behind it where files differ from it; empty where this is no checkout.
set(ULP_COMMIT "")
find_package(Git QUIET)
if(Git_FOUND AND EXISTS ${PROJECT_SOURCE_DIR}/.git)  # not that of a folder around it
  execute_process(COMMAND ${GIT_EXECUTABLE} describe --always --dirty --abbrev=12 --exclude=*
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE ULP_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
set(ULP_VERSION_IN_FULL "${PROJECT_VERSION}")
if(ULP_COMMIT)
  string(APPEND ULP_VERSION_IN_FULL " (${ULP_COMMIT})")
endif()
