// SPDX-License-Identifier: GPL-2.0
/* options - what the command line's options say; main.c reads them */
#include "pamsctl.h"

struct options options = { .interval_us = 1000000 };
