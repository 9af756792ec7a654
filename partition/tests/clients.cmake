# SPDX-License-Identifier: GPL-3.0-or-later
# A project of another author that uses an installed libhetpart. test_clients.sh copies it to an
# empty directory and sets LANGUAGES, WANTED (the version), EXAMPLES (a directory), PARTS (components) and CXX_CLIENT (a
# program over MPI, for projects without C).
cmake_minimum_required(VERSION 3.10)
project(clients LANGUAGES ${LANGUAGES})
find_package(hetpart ${WANTED} REQUIRED CONFIG COMPONENTS ${PARTS})

if("C" IN_LIST LANGUAGES)
  foreach(example IN ITEMS shares capacity scatter learn chain)
    add_executable(${example} "${EXAMPLES}/${example}.c")
    target_link_libraries(${example} PRIVATE hetpart::hetpart)
  endforeach()
endif()
if("CXX" IN_LIST LANGUAGES)
  add_executable(share_cc "${EXAMPLES}/share.cc")
  target_link_libraries(share_cc PRIVATE hetpart::hetpart)
endif()
if("Fortran" IN_LIST LANGUAGES)
  add_executable(share_f "${EXAMPLES}/share.f90")
  target_link_libraries(share_f PRIVATE hetpart::fortran)
endif()
if(CXX_CLIENT)
  add_executable(cxx_client "${CXX_CLIENT}")
  target_link_libraries(cxx_client PRIVATE hetpart::mpi)
elseif("mpi" IN_LIST PARTS)
  add_executable(scatterv_client "${EXAMPLES}/scatterv_client.c")
  target_link_libraries(scatterv_client PRIVATE hetpart::mpi)
endif()
