#include <ulp/io/source/source.hpp>
#include <ulp/model/machines/scaler.hpp>
#include <ulp/report/tables/table.hpp>

int main() { return ulp::as_power(65536) == "2^16" && ulp::source_options{}.with_sums ? 0 : 1; }
