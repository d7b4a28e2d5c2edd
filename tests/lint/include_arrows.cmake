# cmake -D ROOT=<project> -P include_arrows.cmake
# Reads the include lines below the rooms of the project and fails on an arrow that the design does not allow and on
# a second spelling of a public header.
cmake_minimum_required(VERSION 3.25)

# Folder of each room; its public headers are include/ulp/<room>/.
set(rooms formats model io train ask report cli gui python)
set(folder_formats formats)
set(folder_model analysis/model)
set(folder_io analysis/io)
set(folder_train analysis/train)
set(folder_ask analysis/ask)
set(folder_report analysis/report)
set(folder_cli cli)
set(folder_gui gui)
set(folder_python python)

# What an include line in angle brackets belongs to; the first match counts. <ulp/ROOM/...> belongs to ROOM.
set(owners
  "^boost/multiprecision/:boost"
  "^fmt/:fmt"
  "^(oneapi/)?tbb/:tbb"
  "^nlohmann/:nlohmann"
  "^sqlite3\\.h$:sqlite"
  "^zlib\\.h$:zlib"
  "^openssl/:openssl"
  "^yaml-cpp/:yaml"
  "^re2/:re2"
  "^(regex|QRegularExpression)$:backtracking"  # users' expressions are <ulp/io/bytes/regex.hpp>'s
  "^google/protobuf/:protobuf"
  "^CLI/:cli11"
  "^mpi\\.h$:mpi"
  "^pybind11/:pybind11"
  "^(QtCharts/.*|Q.*(Chart|Series|Axis).*)$:qtcharts"
  "^Q[A-Za-z/0-9]*$:qt"
  "^(immintrin|xmmintrin|emmintrin|cpuid|arm_neon)\\.h$:processor"
  "^(malloc|unistd|fcntl|poll|sys/[a-z]+)\\.h$:posix"
  "^std(def|int)\\.h$:std"
  "^[a-z_]+$:std")

# allow(PLACE OWNER...): files whose place matches may include what belongs to OWNER. A place is room:public:file or
# room:private:file. A room may include itself.
set(rules "")
macro(allow place)
  list(APPEND rules "${place}")
  set(allowed_${place} ${ARGN})
endmacro()
allow("^formats:" std formats)
allow("^formats:private:text\\.cpp$" boost fmt)
allow("^formats:public:number_fmt\\.hpp$" fmt)
allow("^formats:private:bulk/" tbb processor)
allow("^model:" std model formats)
allow("^model:private:" tbb)
allow("^model:private:cells/cell_kernel\\.cpp$" processor)
allow("^io:" std io model formats)
allow("^io:private:" nlohmann sqlite zlib openssl yaml protobuf posix)
allow("^io:private:bytes/regex\\.cpp$" re2)
allow("^train:" std train model formats)
allow("^ask:" std ask train io model formats)
allow("^ask:private:" fmt)
allow("^report:" std report ask train io model formats)
allow("^report:private:" fmt nlohmann)
allow("^cli:" std cli report ask train io model formats fmt posix)
allow("^cli:private:command_line\\.cpp$" cli11)
allow("^cli:private:mpi/record_mpi\\.cpp$" mpi)
allow("^gui:" std gui report ask train io model formats qt)
allow("^gui:private:app/allocator\\.cpp$" posix)
allow("^gui:private:charts/" qtcharts)

allow("^python:" std python formats fmt pybind11)
allow("^python:private:bindings/core/" model tbb)
allow("^python:private:bindings/core/(counting_blocks|counting_content|counting_joint|module)\\.cpp$" io)  # what ulp_io_rows has
allow("^python:private:bindings/runs/" report ask io model)

# forbid(PLACE PATTERN): files whose place matches may not include what matches, whatever is allowed.
set(bans "")
macro(forbid place pattern)
  list(APPEND bans "${place}")
  set(forbidden_${place} "${pattern}")
endmacro()
# A view opens no file: what it shows was read by the viewmodel.
forbid("^gui:private:(views|plot|charts)/" "^ulp/(io/(dumps|inputs|recording|source|table|tensorboard|training_log)|ask/(reading|precision|runs))/")
# Nor does report: it words what ask has read.
forbid("^report:" "^ulp/io/(dumps|inputs|merge|recording|source|table|tensorboard|training_log)/")

# Folders of a room are layers, the lowest first: a file may include its own folder and those before it. A folder that is
# not listed is an error. Rooms that are not here have no order.
# model: what was recorded; what a conversion makes of it; the cheapest conversion; what weights lose; what gives scales, and to which tensors; a run,
# step by step; how good a policy was; many runs; why a run failed. Optimizers and the precision of sums stand on the first of these alone.
set(layers_model cells comparison outcomes plan updates machines machines/fp8 machines/loss_scale recipe replay hindsight sweep causes optimizers precision)
set(layers_io
  bytes output encoding database                       # bytes, files, SQLite
  source                                               # what a run is read through
  csv dumps amax training_log/dialects training_log table tensorboard recording inputs  # the forms of a run, and what opens any of them
  merge export arrays                                  # what writes files from files
  config/syntax config/shell config/programs config)   # configurations of frameworks
set(layers_ask questions progress columns reading precision runs)
set(layers_report tables pictures findings page)

# Fails where `including`, a folder of this room, may not include from the folder `included`.
function(check_layers room including included shown spelled)
  if(NOT DEFINED layers_${room} OR including STREQUAL included)
    return()
  endif()
  list(FIND layers_${room} "${including}" from)
  list(FIND layers_${room} "${included}" to)
  foreach(folder IN ITEMS "${including}" "${included}")
    if(NOT folder IN_LIST layers_${room})
      string(APPEND errors "  ${shown}: the folder ${folder} has no place among the layers of ${room}\n")
    endif()
  endforeach()
  if(from LESS to)
    string(APPEND errors "  ${shown}: includes ${spelled}: ${room}/${including} lies below ${included}\n")
  endif()
  set(errors "${errors}" PARENT_SCOPE)
endfunction()

function(allowed_at place result)
  set(all "")
  foreach(rule IN LISTS rules)
    if(place MATCHES "${rule}")
      list(APPEND all ${allowed_${rule}})
    endif()
  endforeach()
  set(${result} ${all} PARENT_SCOPE)
endfunction()

function(owner_of included result)
  set(owner unknown)
  if(included MATCHES "^ulp/([a-z]+)/([a-z_]+/)*[a-z0-9_]+\\.(hpp|h)$")
    set(owner ${CMAKE_MATCH_1})
  else()
    foreach(row IN LISTS owners)
      string(REGEX MATCH "^(.*):([a-z0-9]+)$" row "${row}")
      set(pattern "${CMAKE_MATCH_1}")
      set(name ${CMAKE_MATCH_2})
      if(included MATCHES "${pattern}")
        set(owner ${name})
        break()
      endif()
    endforeach()
  endif()
  set(${result} ${owner} PARENT_SCOPE)
endfunction()

set(errors "")
set(files_read 0)
set(lines_read 0)
macro(complain file what)
  string(APPEND errors "  ${file}: ${what}\n")
endmacro()

foreach(room IN LISTS rooms)
  set(folder ${ROOT}/${folder_${room}})
  file(GLOB_RECURSE files RELATIVE ${folder} ${folder}/*.hpp ${folder}/*.cpp ${folder}/*.h ${folder}/*.ipp)

  foreach(file IN LISTS files)
    set(shown ${folder_${room}}/${file})
    math(EXPR files_read "${files_read} + 1")
    set(place ${room}:private:${file})
    set(public FALSE)
    if(file MATCHES "^include/")
      set(public TRUE)
      if(NOT file MATCHES "^include/ulp/${room}/([a-z_]+/)*[a-z0-9_]+\\.(hpp|h)$")
        complain(${shown} "a public header lies in include/ulp/${room}/")
      endif()
      string(REGEX REPLACE "^include/ulp/${room}/" "${room}:public:" place ${file})
    endif()
    allowed_at(${place} allowed)
    string(REGEX REPLACE "^[a-z]+:[a-z]+:" "" here ${place})
    cmake_path(GET here PARENT_PATH here)

    # Only what stands in <> or "" is taken from a line: lists in CMake break on brackets and semicolons.
    file(READ ${folder}/${file} text)
    string(REGEX MATCHALL "\n[ \t]*#[ \t]*include[ \t]*[<\"][^]>\"\n;[]*[>\"]" lines "\n${text}")
    string(REGEX MATCHALL "\n[ \t]*#[ \t]*include[^a-z]" directives "\n${text}")
    list(LENGTH lines understood)
    list(LENGTH directives found)
    if(NOT understood EQUAL found)
      complain(${shown} "has an include line that names no file")
    endif()
    math(EXPR lines_read "${lines_read} + ${found}")

    foreach(line IN LISTS lines)
      string(REGEX MATCH "([<\"])(.*)[>\"]$" spelled "${line}")
      set(bracket "${CMAKE_MATCH_1}")
      set(included "${CMAKE_MATCH_2}")
      if(bracket STREQUAL "\"")
        if(public OR included MATCHES "(^|/)(\\.\\.|ulp)/")
          complain(${shown} "includes ${spelled}: a public header is spelled <ulp/ROOM/NAME.hpp>")
          continue()
        endif()
        set(there "${here}")
        if(NOT EXISTS ${folder}/${here}/${included})
          cmake_path(GET included PARENT_PATH there)
          if(NOT EXISTS ${folder}/${included})
            complain(${shown} "includes ${spelled}: not a private header of ${folder_${room}}/")
          endif()
        endif()
        check_layers(${room} "${here}" "${there}" ${shown} "${spelled}")
        continue()
      endif()
      foreach(ban IN LISTS bans)
        if("${place}" MATCHES "${ban}" AND included MATCHES "${forbidden_${ban}}")
          complain(${shown} "includes ${spelled}: what opens files may not be included here")
        endif()
      endforeach()
      owner_of("${included}" owner)
      if(owner STREQUAL "unknown")
        complain(${shown} "includes ${spelled}: belongs to no library that the project knows")
      elseif(NOT owner IN_LIST allowed)
        complain(${shown} "includes ${spelled}: ${room} may not include ${owner} here")
      elseif(included MATCHES "^ulp/[a-z]+/detail/" AND NOT owner STREQUAL room)
        complain(${shown} "includes ${spelled}: detail/ is for its own room")
      elseif(owner IN_LIST rooms AND NOT EXISTS ${ROOT}/${folder_${owner}}/include/${included})
        complain(${shown} "includes ${spelled}: there is no such public header")
      elseif(owner STREQUAL room)
        string(REGEX REPLACE "^ulp/[a-z]+/" "" there "${included}")
        cmake_path(GET there PARENT_PATH there)
        check_layers(${room} "${here}" "${there}" ${shown} "${spelled}")
      endif()
    endforeach()
  endforeach()
endforeach()

if(lines_read EQUAL 0)
  complain(${ROOT} "no include line found")
endif()
if(errors)
  message(FATAL_ERROR "These include lines are against the design:\n${errors}")
endif()
message(STATUS "${lines_read} include lines of ${files_read} files follow the arrows")
