// SPDX-License-Identifier: GPL-2.0
/*
 * runs - what lies beyond the first hole, as runs of data without a hole
 *
 * A flow's runs are in a list, in order of their sequence numbers, and in a tree that finds
 * one of them. The tree is a treap (Aragon and Seidel, 1989): ordered by sequence numbers from
 * left to right, and by random numbers from the root down. So it is flat whatever order a
 * server chooses, and a packet out of order costs the same behind ten holes and ten thousand.
 */
#include <stdlib.h>

#include "flow.h"

/* Split a tree into what begins before @seq, and the rest. */
static void cut_tree(struct run *tree, uint32_t seq, struct run **left, struct run **right)
{
	if (!tree) {
		*left = NULL;
		*right = NULL;
	} else if (before(tree->from, seq)) {
		cut_tree(tree->right, seq, &tree->right, right);
		*left = tree;
	} else {
		cut_tree(tree->left, seq, left, &tree->left);
		*right = tree;
	}
}

/* Make one tree of two, of which the left one lies before the right one. */
static struct run *join_trees(struct run *left, struct run *right)
{
	if (!left || !right)
		return left ? left : right;
	if (left->random > right->random) {
		left->right = join_trees(left->right, right);
		return left;
	}
	right->left = join_trees(left, right->left);
	return right;
}

/* The last run that begins at @seq or before; NULL: there is none. */
struct run *runs_find(const struct runs *runs, uint32_t seq)
{
	struct run *at = runs->root, *found = NULL;

	while (at) {
		if (after(at->from, seq)) {
			at = at->left;
		} else {
			found = at;
			at = at->right;
		}
	}
	return found;
}

/* Add an empty run after @prev, or as the first one if @prev is NULL. NULL: there is no memory. */
struct run *runs_add(struct runs *runs, struct run *prev, uint32_t from, uint64_t seed)
{
	struct run *run = calloc(1, sizeof(*run)), **at = &runs->root;

	if (!run)
		return NULL;
	run->from = from;
	run->to = from;
	run->random = mix(seed ^ runs->added++);
	while (*at && (*at)->random >= run->random)
		at = before(run->from, (*at)->from) ? &(*at)->left : &(*at)->right;
	cut_tree(*at, run->from, &run->left, &run->right);
	*at = run;
	run->prev = prev;
	run->next = prev ? prev->next : runs->first;
	if (run->next)
		run->next->prev = run;
	else
		runs->last = run;
	if (prev)
		prev->next = run;
	else
		runs->first = run;
	return run;
}

/* Forget a run; its segments stay. */
void runs_remove(struct runs *runs, struct run *run)
{
	struct run **at = &runs->root;

	while (*at != run)
		at = before(run->from, (*at)->from) ? &(*at)->left : &(*at)->right;
	*at = join_trees(run->left, run->right);
	if (run->prev)
		run->prev->next = run->next;
	else
		runs->first = run->next;
	if (run->next)
		run->next->prev = run->prev;
	else
		runs->last = run->prev;
	free(run);
}
