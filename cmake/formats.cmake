# Libraries of file formats: their headers, since pxl opens the libraries themselves when a file needs them
# (runtime/io/shared_library.hpp).
foreach(header zip.h png.h turbojpeg.h sndfile.h)
  find_path(${header}_INCLUDE ${header} REQUIRED)
  target_include_directories(pxl_io SYSTEM PRIVATE ${${header}_INCLUDE})
endforeach()
target_link_libraries(pxl_io PRIVATE ${CMAKE_DL_LIBS})
