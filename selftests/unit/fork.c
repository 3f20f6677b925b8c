// SPDX-License-Identifier: GPL-2.0
/*
 * fork - two processes mark through one handle of libpams, opened before they were forked
 *
 * The module needn't be there: the requests go to the kernel's own family nlctrl, which refuses
 * them. Exit code: 0 each call had its own answer, 1 one had not, or had none within 60 s.
 */
#include <sys/wait.h>

#include <linux/mptcp_pams.h>
#undef MPTCP_PAMS_FAMILY_NAME
#define MPTCP_PAMS_FAMILY_NAME "nlctrl"
#include "../../tools/libpams/pams.c"

#define CALLS 20000

static int mark_often(struct pams *pams)
{
	alarm(60);
	for (int i = 0; i < CALLS; i++)
		if (!pams_unit_by_token(pams, 1, 1) || errno != EOPNOTSUPP)
			return 1;
	return 0;
}

int main(void)
{
	struct pams *pams = pams_open();
	int failed = !pams, status;

	for (int child = 0; child < 2; child++)
		if (!fork())
			_exit(!pams || mark_often(pams));
	while (wait(&status) > 0)
		failed |= status;
	pams_close(pams);
	return failed != 0;
}
