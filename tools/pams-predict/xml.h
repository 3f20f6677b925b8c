/* SPDX-License-Identifier: GPL-2.0 */
/*
 * xml - what gpx.c and kml.c need to read a file
 */
#ifndef PAMS_PREDICT_XML_H
#define PAMS_PREDICT_XML_H

#include "predict.h"

/*
 * A file under way. Names are without their namespace's prefix. text: what stands between an
 * element's begin and end; of one that has others in it, what follows the last of them.
 */
struct xml {
	void (*begins)(struct xml *xml, const char *name, const char **attributes);
	void (*ends)(struct xml *xml, const char *name, const char *text);
	unsigned int line;
	const char *fault;	/* set by begins() or ends(): what is wrong in that line */
};

/* Both: 0, or -1 after a message on standard error. */
int xml_read(struct xml *xml, const char *file);
int xml_complain(const struct xml *xml, const char *file);

#endif /* PAMS_PREDICT_XML_H */
