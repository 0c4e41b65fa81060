# The rest comes from __init__.py.
set(CPACK_PACKAGE_NAME synctrace)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "finds the host code that makes a GPU wait")
# CPack puts the summary before it.
set(CPACK_PACKAGE_DESCRIPTION "Loaded into an unchanged program that uses CUDA, it records every call
that can wait, with its stack and with what the GPU did meanwhile, and
ranks the lines of Python and C++ that make the GPU idle by what
changing them would save.")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
# The recorder's floor; the command needs nothing.
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= 2.28)")
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_PACKAGE_FILE_NAME synctrace)  # names the folder that it works in
set(CPACK_SET_DESTDIR OFF)
set(CPACK_PACKAGING_INSTALL_PREFIX /)
