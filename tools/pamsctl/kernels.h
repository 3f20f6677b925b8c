/* SPDX-License-Identifier: GPL-2.0 */
/* Written by selftests/matrix write: the rows of Documentation/kernels.md. */
