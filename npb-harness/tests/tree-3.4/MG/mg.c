/* Cannot be compiled. */
#include "../common/kernel.h"
#include "npbparams.h"
#include "no_such_header.h"
