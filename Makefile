# SPDX-License-Identifier: GPL-2.0
# One target for each thing that a person wants; `make help` lists them.

SERIES  ?= 6.12#    the Debian kernel of demo, shell and bench: 6.1 or 6.12
FLAVOUR ?= cloud#   its flavour: cloud, generic or rt
FILE    ?=#         what demo sends; default: the kernel image that it boots
TABLE   ?=#         what processes of demo share: a key and a number in each line; default: /proc/meminfo
BARRIERS ?= 1000000# back to back, at the end of demo: 10 minutes, if emulated
SCENES  ?=#         of demo and demo-cluster; default: all, see there
VM      ?= yes#     no: demo on this machine instead of a virtual one
CPUS    ?= 2#       of the virtual machine
TIME    ?= 600#     of fuzz, fuzz-vm, trinity, in seconds, for each target; of storm, soak
SEED    ?=#         of storm; default: another each time
TARGET  ?=#         of fuzz; default: all, as in tools/fuzz
PREFIX  ?= /usr/local
DESTDIR ?=

BUILD     := $(CURDIR)/build
ALL       := 6.1 6.12
# Those that look for bugs are built of one series.
EACH       = $(if $(filter debug kcsan gcov,$(FLAVOUR)),$(SERIES),$(ALL))
VMKERNEL   = tools/vm/kernel
RUNVM      = tools/vm/vm --kernel $(SERIES) --flavour $(FLAVOUR) --cpus $(CPUS)
# A folder is built when it is there; $(1) is the folder, $(2) the rest.
# What demo-allreduce counts the words of.
TEXT       = $(addprefix --add ,$(foreach file, \
	       $(wildcard /usr/share/common-licenses/GPL-3),$(file):$(file)))
SUBMAKE    = $(if $(wildcard $(1)/Makefile),$(MAKE) --no-print-directory \
	       -C $(1) O=$(BUILD) $(2))
PAGES     := $(patsubst Documentation/man/%.rst,$(BUILD)/man/%, \
	       $(wildcard Documentation/man/*.rst))
HTML      := $(patsubst Documentation/%.rst,$(BUILD)/doc/%.html, \
	       $(wildcard Documentation/*.rst))
DIAGRAMS  := $(patsubst Documentation/%.msc,$(BUILD)/doc/%.svg, \
	       $(wildcard Documentation/diagrams/*.msc))
DKMS       = $(DESTDIR)/usr/src/bgdma-0.1
export BGDMA_BUILD := $(BUILD)
# As it is, whatever is in its name: make would expand what it was given.
override FILE := $(value FILE)
export FILE

.DEFAULT_GOAL := all
.PHONY: all help deps deps-check kernels modules module lib tools demos perf \
	selftests man doc check check-static check-user check-vm check-debug \
	check-rt check-sanitizers \
	check-prepare \
	demo demo-torus demo-cluster shell bench install dkms coverage fuzz fuzz-vm trinity storm soak clean

all: modules tools demos selftests man	## modules for both kernels, all programs, man pages

help:		## this list
	@echo "make TARGET [NAME=VALUE]..."
	@sed -n 's/^\([a-z-]*\):[^#]*##[ \t]*/\1\t/p' Makefile | \
		awk -F '\t' '{ printf "  %-14s %s\n", $$1, $$2 }'
	@echo "Values:"
	@sed -n 's/^\([A-Z]*\) *?= *\([^#]*\)# */\1=\2\t/p' Makefile | \
		awk -F '\t' '{ printf "  %-14s %s\n", $$1, $$2 }'

deps:		## install what the build and the virtual machine need (apt)
	@tools/check/deps build

deps-check: deps
	@tools/check/deps check

kernels: deps	## fetch the Debian kernels into ~/.cache/bgdma, once
	@for series in $(EACH); do \
		$(VMKERNEL) fetch $$series $(FLAVOUR) >/dev/null || exit 1; done

modules: kernels	## the module for both Debian kernels, in build/RELEASE/kernel
	@for series in $(EACH); do \
		tools/vm/module $$series $(FLAVOUR) W=1 modules || exit 1; done

module: deps	## the module for the running kernel, in kernel/
	@tools/check/deps module
	$(MAKE) -C /lib/modules/$$(uname -r)/build M=$(CURDIR)/kernel modules

lib: deps	## libbgdma
	@+$(call SUBMAKE,lib,all)

tools: lib	## the program bgdma
	@+$(call SUBMAKE,tools/bgdma,all)

demos: lib	## the demonstrations
	@+$(call SUBMAKE,tools/demos,all)

perf: lib	## the measuring programs
	@+$(call SUBMAKE,tools/perf,all)

selftests: lib	## the tests, in build/selftests
	@+source=$$($(VMKERNEL) source) && $(call SUBMAKE,selftests,all \
		KSELFTEST_DIR=$$source/tools/testing/selftests)
	@install -D selftests/run $(BUILD)/selftests/run

man: lib $(PAGES)	## the man pages, in build/man
	@+$(call SUBMAKE,lib,man)

$(BUILD)/man/%: Documentation/man/%.rst
	@mkdir -p $(@D)
	rst2man --strict $< $@

doc: $(HTML) $(DIAGRAMS)	## the documents with their diagrams, as HTML in build/doc

$(BUILD)/doc/%.html: Documentation/%.rst
	@mkdir -p $(@D)
	rst2html --link-stylesheet --no-generator $< $@

$(BUILD)/doc/diagrams/%.svg: Documentation/diagrams/%.msc
	@tools/check/deps doc
	@mkdir -p $(@D)
	mscgen -T svg -i $< -o $@

check: check-prepare	## all of the checks and tests, on both kernels
	@tools/check/check build static user library vm

check-static: check-prepare	## the module's build, and the look of the sources
	@tools/check/check build static

check-user: check-prepare	## the user side: two compilers, headers, clang-tidy
	@tools/check/check build user

check-vm: check-prepare	## the tests, in virtual machines
	@tools/check/check build library vm

check-debug: deps-check	## the tests on kernels that look for bugs (first time: builds them)
	@tools/check/deps debug
	@tools/check/check build debug

check-rt: check-prepare	## all of the tests on both PREEMPT_RT kernels
	@tools/check/check build rt

check-sanitizers: check-prepare	## all of the library's tests with ASan, TSan and valgrind
	@tools/check/check build sanitizers

coverage: deps-check tools demos selftests	## lines of the module that the tests reach
	@tools/check/deps debug
	@tools/check/coverage

fuzz: deps-check	## fuzz what needs no device, TIME seconds a target, or TARGET alone
	@+$(call SUBMAKE,tools/fuzz,TIME=$(TIME) TARGET=$(TARGET) run)

fuzz-vm: deps-check	## fuzz the device for TIME seconds, on the debug kernel
	@tools/check/deps debug
	@+$(call SUBMAKE,tools/fuzz/vm,TIME=$(TIME) run)

trinity: deps-check tools	## the same with Debian's trinity, which knows nothing of it
	@tools/check/deps debug trinity
	@tools/fuzz/vm/trinity $(TIME)

storm: modules tools selftests	## hundreds of processes come, work and are killed for TIME seconds
	@$(RUNVM) --mem 4096 --timeout $$(($(TIME) * 3 + 600)) -- \
		/selftests/storm_test $(TIME) $(SEED)

soak: modules tools selftests	## tests over links that get worse and worse, for TIME seconds
	@$(RUNVM) --mem 6144 --timeout $$(($(TIME) + 1800)) -- \
		sh /selftests/soak.sh $(TIME)

# What has to be there before anything is judged.
check-prepare: deps-check kernels
	@$(VMKERNEL) source >/dev/null

ifeq ($(VM),no)
demo: module tools demos	## send FILE from one node to another in several ways, and more
	@file=$${FILE:-/boot/vmlinuz-$$(uname -r)} && \
		tools/vm/here env BGDMA_BARRIERS=$(BARRIERS) \
			$(if $(TABLE),BGDMA_TABLE='$(abspath $(TABLE))') \
			demo "$$file" $(SCENES)
else
demo: modules tools demos
	@file=$${FILE:-$$($(VMKERNEL) image $(SERIES) $(FLAVOUR))} && \
		$(RUNVM) --timeout 0 $(TEXT) \
			--add "$$file:/demo/$$(basename "$$file")" \
			$(if $(TABLE),--add '$(TABLE):/demo.table') -- \
			env BGDMA_BARRIERS=$(BARRIERS) \
			$(if $(TABLE),BGDMA_TABLE=/demo.table) \
			demo "/demo/$$(basename "$$file")" $(SCENES)
endif

ifeq ($(VM),no)
demo-torus: module tools demos	## the same between four namespaces, with loss, and a link that is cut
	@file=$${FILE:-/boot/vmlinuz-$$(uname -r)} && \
		tools/vm/here env BGDMA_BARRIERS=$(BARRIERS) demo-torus "$$file"
else
demo-torus: modules tools demos
	@file=$${FILE:-$$($(VMKERNEL) image $(SERIES) $(FLAVOUR))} && \
		$(RUNVM) --timeout 0 $(TEXT) \
			--add "$$file:/demo/$$(basename "$$file")" -- \
			env BGDMA_BARRIERS=$(BARRIERS) \
			demo-torus "/demo/$$(basename "$$file")"
endif

demo-cluster: modules tools demos	## eight nodes in two virtual machines, one of which dies
	@tools/check/deps cluster
	@file=$${FILE:-$$($(VMKERNEL) image $(SERIES) $(FLAVOUR))} && \
		there=/demo/$$(basename "$$file") && \
		tools/vm/pair 'demo-cluster second' --kernel $(SERIES) \
			--flavour $(FLAVOUR) --cpus $(CPUS) --timeout 3600 \
			--add "$$file:$$there" \
			--add "$$(command -v mpiexec.hydra):/usr/bin/mpiexec.hydra" \
			--add "$$(command -v hydra_pmi_proxy):/usr/bin/hydra_pmi_proxy" \
			-- demo-cluster "$$there" $(SCENES)

shell: modules tools demos selftests	## a shell in a virtual machine with the module
	@$(RUNVM) --shell

bench: modules tools perf	## measure, in a virtual machine
	@+$(call SUBMAKE,tools/perf,bench SERIES=$(SERIES))

install: lib tools perf man	## library, headers, programs, man pages to DESTDIR, PREFIX
	@rm -f $(BUILD)/lib/libbgdma.pc
	@+$(call SUBMAKE,lib,install DESTDIR=$(DESTDIR) PREFIX=$(PREFIX))
	@+$(call SUBMAKE,tools/bgdma,install DESTDIR=$(DESTDIR) prefix=$(PREFIX))
	@+$(call SUBMAKE,tools/perf,install DESTDIR=$(DESTDIR) prefix=$(PREFIX))
	@for page in $(filter %.4 %.8,$(PAGES)); do \
		install -D -m 644 $$page \
			$(DESTDIR)$(PREFIX)/share/man/man$${page##*.}/$${page##*/} \
			|| exit 1; done

dkms:		## the module's sources for dkms, to DESTDIR/usr/src
	install -d $(DKMS)
	cp -r kernel uapi $(DKMS)
	mv $(DKMS)/kernel/dkms.conf $(DKMS)
	@echo "Now: dkms install bgdma/0.1"

clean:		## remove what was built
	rm -rf $(BUILD)
	find kernel \( -name '*.o' -o -name '*.ko' -o -name '*.mod' -o \
		-name '*.mod.c' -o -name '.*.cmd' -o -name 'modules.order' -o \
		-name Module.symvers -o -name .module-common.o \) -delete
