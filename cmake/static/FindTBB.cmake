# Debian has no archive of oneTBB: include/ has what is used of it, by threads of the standard library.
set(TBB_FOUND ON)
if(NOT TARGET TBB::tbb)
  add_library(TBB::tbb INTERFACE IMPORTED)
  target_include_directories(TBB::tbb INTERFACE ${CMAKE_CURRENT_LIST_DIR}/include)
  target_link_libraries(TBB::tbb INTERFACE Threads::Threads)
endif()
