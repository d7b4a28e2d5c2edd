# ULP_PYTHON: the interpreter that runs the tests, and that the package is built for. What the user names stays (-DULP_PYTHON=...,
# or Python_EXECUTABLE, as pip does). Else it is chosen at each configuration, since numpy may have been installed meanwhile: the
# last choice as long as it has all that the tests use, else the first in PATH that has the most of it.
set(ULP_PYTHON "" CACHE FILEPATH "Python 3.9 or newer that runs the tests and that the package is built for; empty: chosen")

# Prints the path of the interpreter, which may be behind a shim, what its worth is, and what it lacks.
set(ulp_python_question [=[
import importlib.util, os, sys, sysconfig
if sys.version_info < (3, 9): sys.exit(1)
has = {name: importlib.util.find_spec(name) is not None for name in ("numpy", "torch")}
has["headers"] = os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h"))
worth = 4 * has["numpy"] + 2 * has["headers"] + has["torch"]
print(sys.executable, worth, " and ".join(name for name in has if not has[name]), sep="|", end="")
]=])

# Sets PATH, WORTH (-1: no Python 3.9) and LACKS.
function(ulp_ask_python candidate path worth lacks)
  # The tests have a PYTHONPATH of their own.
  execute_process(COMMAND ${CMAKE_COMMAND} -E env --unset=PYTHONPATH ${candidate} -c "${ulp_python_question}"
    RESULT_VARIABLE failed OUTPUT_VARIABLE answer ERROR_QUIET)
  if(failed OR NOT answer MATCHES "^(.+)[|]([0-7])[|](.*)$")
    set(answer "|-1|")
    string(REGEX MATCH "^(.*)[|](.*)[|](.*)$" answer "${answer}")
  endif()
  set(${path} "${CMAKE_MATCH_1}" PARENT_SCOPE)
  set(${worth} "${CMAKE_MATCH_2}" PARENT_SCOPE)
  set(${lacks} "${CMAKE_MATCH_3}" PARENT_SCOPE)
endfunction()

function(ulp_choose_python result)
  set(candidates ${ULP_PYTHON_CHOSEN})
  cmake_path(CONVERT "$ENV{PATH}" TO_CMAKE_PATH_LIST folders)
  foreach(folder IN LISTS folders ITEMS /usr/local/bin /usr/bin)
    file(GLOB found ${folder}/python3 ${folder}/python3.[0-9] ${folder}/python3.[0-9][0-9])
    list(APPEND candidates ${found})
  endforeach()
  list(REMOVE_DUPLICATES candidates)
  set(best -1)
  set(chosen "")
  foreach(candidate IN LISTS candidates)
    ulp_ask_python(${candidate} path worth lacks)
    if(worth GREATER best)
      set(best ${worth})
      set(chosen ${path})
    endif()
    if(best EQUAL 7)
      break()
    endif()
  endforeach()
  set(ULP_PYTHON_CHOSEN "${chosen}" CACHE INTERNAL "The last choice")
  set(${result} "${chosen}" PARENT_SCOPE)
endfunction()

if(NOT ULP_PYTHON)
  if(Python_EXECUTABLE)
    set(ULP_PYTHON ${Python_EXECUTABLE})
  else()
    ulp_choose_python(ULP_PYTHON)
  endif()
endif()
if(ULP_PYTHON)
  ulp_ask_python(${ULP_PYTHON} path worth ulp_python_lacks)
  if(worth LESS 0)
    message(FATAL_ERROR "ULP_PYTHON: ${ULP_PYTHON} is not Python 3.9 or newer; with -DULP_PYTHON= one is chosen")
  endif()
  if(ulp_python_lacks AND ULP_BUILD_TESTS)
    message(STATUS "${ULP_PYTHON} lacks ${ulp_python_lacks}: tests of the Python package will be skipped")
  endif()
else()
  message(STATUS "No Python 3.9 or newer was found: tests of the Python package are left out")
endif()

# ulp_find_python(): FindPython and pybind11 for ULP_PYTHON. What they have found for an earlier one does not fit.
macro(ulp_find_python)
  if(NOT ULP_PYTHON STREQUAL _Python_EXECUTABLE)
    get_cmake_property(ulp_cached CACHE_VARIABLES)
    list(FILTER ulp_cached INCLUDE REGEX "^(_Python_|PYTHON_(MODULE|IS)_)")
    foreach(variable IN LISTS ulp_cached)
      unset(${variable} CACHE)
    endforeach()
  endif()
  set(Python_EXECUTABLE ${ULP_PYTHON})
  find_package(Python 3.9 QUIET COMPONENTS Interpreter Development.Module)
  if(Python_FOUND)
    find_package(pybind11 2.10 CONFIG QUIET)
  endif()
endmacro()
