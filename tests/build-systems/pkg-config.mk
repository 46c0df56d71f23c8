# A makefile without any wrapper.
check: sum_c sum_cxx
	mpiexec -n 2 ./sum_c
	mpiexec -n 2 ./sum_cxx

sum_c: $(SOURCE)/sum.c
	$(CC) $$(pkg-config --cflags mpi-c) -o $@ $< $$(pkg-config --libs mpi-c)

sum_cxx: $(SOURCE)/sum_cxx.cpp
	$(CXX) $$(pkg-config --cflags mpi-cxx) -o $@ $< $$(pkg-config --libs mpi-cxx)
