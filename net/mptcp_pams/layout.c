// SPDX-License-Identifier: GPL-2.0
/* Compares the layouts of MPTCP's private structs that the module was built for
 * (mptcp_layout.h) with the running kernel's own type information (BTF). vermagic doesn't cover
 * these layouts: the same release may have been built again with another option.
 *
 * Kernels without BTF, or whose BTF functions can't be found (symbols.c), pass. Then msk_check()
 * is the only check: what the kernel writes shows the layouts of struct mptcp_sock and struct
 * mptcp_subflow_context, but not of struct mptcp_data_frag.
 */
#define pr_fmt(fmt) "mptcp_pams: " fmt

#include <linux/btf.h>
#include <linux/err.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "mptcp_layout.h"	/* generated from the target kernel's BTF */
#include "pams.h"
#include "symbols.h"

struct layout_row {
	const char *of;
	const char *field;	/* "": the size of the struct */
	int bits;
};

#define LAYOUT_ROW(_of, _field, _bits)	{ .of = (_of), .field = (_field), .bits = (_bits) },

static const struct layout_row layout_rows[] __initconst = {
	PAMS_LAYOUT_ROWS(LAYOUT_ROW)
};

/* Where a field begins, in bits, or -ENOENT. Anonymous structs and unions are searched, too. */
static int __init field_bits(const struct btf *btf, const struct btf_type *type,
			     const char *field)
{
	const struct btf_member *member = btf_type_member(type);
	unsigned int left;

	for (left = btf_type_vlen(type); left; left--, member++) {
		const char *name = pams_btf_name(btf, member->name_off);
		const struct btf_type *of = btf_type_by_id(btf, member->type);
		int begin = __btf_member_bit_offset(type, member), inside = -ENOENT;

		if (!strcmp(name, field))
			return begin;
		if (!*name && of && btf_type_is_struct(of))
			inside = field_bits(btf, of, field);
		if (inside >= 0)
			return begin + inside;
	}
	return -ENOENT;
}

static const struct btf_type * __init struct_type(const struct btf *btf, const char *name)
{
	s32 id = pams_btf_find(btf, name, BTF_KIND_STRUCT);

	return id > 0 ? btf_type_by_id(btf, id) : NULL;
}

/**
 * pams_layout_check - does the running kernel have the layouts that the module was built for?
 *
 * Return: 0, also if the kernel's layouts aren't known; or -ENOEXEC after a line in the log.
 */
int __init pams_layout_check(void)
{
	const struct btf *btf = pams_btf_vmlinux();
	const struct btf_type *type = NULL;
	const struct layout_row *row;
	int bits;

	if (IS_ERR_OR_NULL(btf))
		return 0;
	for (row = layout_rows; row < layout_rows + ARRAY_SIZE(layout_rows); row++) {
		if (!*row->field)
			type = struct_type(btf, row->of);
		bits = !type ? -ENOENT : !*row->field ? 8 * type->size :
		       field_bits(btf, type, row->field);
		if (bits == row->bits)
			continue;
		pr_err("built for struct %s with %s at bit %d (kernel %s), this kernel has it at %d: build the module for the running kernel\n",
		       row->of, *row->field ? row->field : "its end", row->bits,
		       PAMS_LAYOUT_RELEASE, bits);
		return -ENOEXEC;
	}
	return 0;
}
