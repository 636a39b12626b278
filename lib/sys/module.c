// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Modules that live as long as an endpoint.
 */
#include <errno.h>
#include <stdlib.h>

#include "internal.h"

int bgdma_module_add_sized(struct bgdma_endpoint *ep,
			   const struct bgdma_module_attr *attr, size_t size)
{
	struct module *module;
	int ret;

	module = calloc(1, sizeof(*module));
	if (!module)
		return -ENOMEM;
	ret = attr_copy(&module->attr, sizeof(module->attr), attr, size);
	if (ret) {
		free(module);
		return ret;
	}
	endpoint_lock(ep);
	if (ep->state == STATE_OPEN) {
		module->next = ep->modules;
		ep->modules = module;
	} else {
		ret = -EBUSY;
	}
	endpoint_unlock(ep);
	if (ret)
		free(module);
	return ret;
}

void bgdma_endpoint_lock(struct bgdma_endpoint *ep)
{
	endpoint_lock(ep);
}

void bgdma_endpoint_unlock(struct bgdma_endpoint *ep)
{
	endpoint_unlock(ep);
}

void modules_trouble(struct bgdma_endpoint *ep,
		     const struct bgdma_trouble_info *info)
{
	const struct module *module;

	for (module = ep->modules; module; module = module->next)
		if (module->attr.trouble)
			module->attr.trouble(module->attr.arg, info);
}

void modules_event(struct bgdma_endpoint *ep, const struct bgdma_event *event)
{
	const struct module *module;

	for (module = ep->modules; module; module = module->next)
		if (module->attr.event)
			module->attr.event(module->attr.arg, event);
}

void modules_release(struct bgdma_endpoint *ep)
{
	struct module *module;

	while ((module = ep->modules)) {
		ep->modules = module->next;
		if (module->attr.release)
			module->attr.release(module->attr.arg);
		free(module);
	}
}
