// SPDX-License-Identifier: GPL-2.0
/* mptcp_pams: packet schedulers for Multipath TCP. Load and unload. */
#define pr_fmt(fmt) "mptcp_pams: " fmt

#include <linux/init.h>
#include <linux/module.h>
#include <linux/net.h>
#include <net/net_namespace.h>

#include "netlink.h"
#include "pams.h"

/* vermagic does not cover MPTCP's private structures, whose layout this module
 * was built with: ask the running kernel for the size of one of its sockets.
 */
static int __init main_check_layout(void)
{
	struct socket *sock;
	unsigned int size;
	int err;

	err = sock_create_kern(&init_net, AF_INET, SOCK_STREAM, IPPROTO_MPTCP,
			       &sock);
	if (err == -ENOPROTOOPT) {
		pr_err("MPTCP is switched off here: sysctl -w net.mptcp.enabled=1, then load again\n");
		return err;
	}
	if (err) {
		pr_err("no MPTCP socket can be made (%pe): this kernel needs CONFIG_MPTCP\n",
		       ERR_PTR(err));
		return err;
	}
	size = sock->sk->sk_prot->obj_size;
	sock_release(sock);

	if (size != PAMS_SIZEOF_MPTCP_SOCK) {
		pr_err("built for struct mptcp_sock of %u bytes (kernel %s), this kernel's has %u: build the module for the running kernel\n",
		       PAMS_SIZEOF_MPTCP_SOCK, PAMS_LAYOUT_RELEASE, size);
		return -ENOEXEC;
	}
	return 0;
}

static int __init mptcp_pams_init(void)
{
	int err;

	err = main_check_layout();
	if (err)
		return err;

	err = pams_symbols_resolve();
	if (err)
		return err;

	err = pams_conn_init();
	if (err)
		return err;

	err = pams_net_init();
	if (err)
		goto err_conn;

	err = pams_netlink_init();
	if (err)
		goto err_net;

	err = pams_glue_register();
	if (err)
		goto err_netlink;

	return 0;

err_netlink:
	pams_netlink_exit();
err_net:
	pams_net_exit();
err_conn:
	pams_conn_exit();
	return err;
}

static void __exit mptcp_pams_exit(void)
{
	pams_glue_unregister();
	pams_netlink_exit();
	pams_net_exit();
	pams_conn_exit();
}

module_init(mptcp_pams_init);
module_exit(mptcp_pams_exit);

MODULE_AUTHOR("The mptcp-pams developers");
MODULE_DESCRIPTION("MPTCP packet schedulers MinRTT, minPAD and PAMS");
MODULE_LICENSE("GPL");
