# A makefile without any wrapper.
programs = sum_c sum_cxx sum_f77 sum_f90 sum_f08
fortran = $(FC) $$(pkg-config --cflags mpi-fort) -o $@ $< $$(pkg-config --libs mpi-fort)

check: $(programs)
	for program in $(programs); do mpiexec -n 2 ./$$program || exit; done

sum_c: $(SOURCE)/sum.c
	$(CC) $$(pkg-config --cflags mpi-c) -o $@ $< $$(pkg-config --libs mpi-c)

sum_cxx: $(SOURCE)/sum_cxx.cpp
	$(CXX) $$(pkg-config --cflags mpi-cxx) -o $@ $< $$(pkg-config --libs mpi-cxx)

sum_f77: $(SOURCE)/sum_f77.f
	$(fortran)

sum_f90: $(SOURCE)/sum_f90.f90
	$(fortran)

sum_f08: $(SOURCE)/sum_f08.f90
	$(fortran)
