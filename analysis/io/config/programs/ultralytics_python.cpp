// Ultralytics in a script, YOLO(...).train(imgsz=640): as in ultralytics.cpp.
#include "rows.hpp"

namespace ulp::io {

program_row ultralytics_python_program() {
  program_row row = ultralytics_program();
  row.markers = {};
  row.calls = "train";
  row.call_markers = "imgsz close_mosaic lr0";
  row.started_by = {};
  row.takes_command = false;
  row.keys.read = "()";
  row.place = written_in::files;
  return row;
}

}  // namespace ulp::io
