/* SPDX-License-Identifier: GPL-3.0-or-later */
/* glpk_load.h - GLPK, loaded where a linear programme is to be solved: who asks for none needs no
 * solver. The calls have the types of glpk.h, against which they are compiled. Not installed. */
#ifndef GLPK_LOAD_H
#define GLPK_LOAD_H

#include <glpk.h>

#include "part.h"

/* All that is called, without glp_. */
#define GLPK_CALLS(X)    \
	X(init_env)      \
	X(free_env)      \
	X(term_hook)     \
	X(term_out)      \
	X(error_hook)    \
	X(create_prob)   \
	X(delete_prob)   \
	X(set_obj_dir)   \
	X(set_obj_coef)  \
	X(add_rows)      \
	X(add_cols)      \
	X(set_row_bnds)  \
	X(set_col_bnds)  \
	X(set_row_stat)  \
	X(set_col_stat)  \
	X(load_matrix)   \
	X(scale_prob)    \
	X(std_basis)     \
	X(init_smcp)     \
	X(simplex)       \
	X(get_status)    \
	X(get_prim_stat) \
	X(get_col_prim)

struct glpk {
	void *library;
#define GLPK_MEMBER(f) __typeof__(glp_##f) *f;
	GLPK_CALLS(GLPK_MEMBER)
#undef GLPK_MEMBER
};

/* HETPART_EMISSING where it is not installed, or not the one that this was compiled for. Safe from
 * any number of threads. */
hetpart_status part_glpk_load(struct glpk *g, hetpart_err *err);

/* Give back what was loaded; nothing happens where nothing was. */
void part_glpk_drop(struct glpk *g);

#endif
