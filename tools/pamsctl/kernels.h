/* SPDX-License-Identifier: GPL-2.0 */
/* Written by selftests/matrix write: the rows of Documentation/kernels.md. */
{ "^6[.]12[.][.0-9]+[+]deb13[.0-9]*-amd64$", "x86_64",
  "6.12.117+deb13-amd64" },
{ "^6[.]12[.][.0-9]+[+]deb13[.0-9]*-arm64-16k$", "aarch64",
  "6.12.117+deb13-arm64-16k" },
{ "^6[.]12[.][.0-9]+[+]deb13[.0-9]*-cloud-amd64$", "x86_64",
  "6.12.117+deb13-cloud-amd64" },
{ "^6[.]12[.][.0-9]+[+]deb13[.0-9]*-cloud-arm64$", "aarch64",
  "6.12.117+deb13-cloud-arm64" },
{ "^7[.][.0-9]+[+]deb13[.0-9]*-cloud-amd64$", "x86_64",
  "7.3.4+deb13-cloud-amd64" },
