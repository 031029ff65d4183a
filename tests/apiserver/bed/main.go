// bed is the launcher of the test bed: it starts real Kubernetes control planes on this machine,
// breaks them in the ways that the tests need, and ends them. This file is the table of its
// commands; the work is done in cluster/, kube/ and fault/. Standard library only, so that it
// builds in seconds on a machine that has nothing but Go.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"understudy.test/bed/demo"
)

type command struct {
	name, arguments, help string
	run                   func(ctx context.Context, flags *flag.FlagSet, args []string) error
}

var commands []command

func init() {
	commands = []command{
		{"up", "CLUSTER...", "start clusters and wait until they can be used", up},
		{"down", "", "end everything of a bed and remove it", down},
		{"status", "", "list the clusters and which of their parts run", status},
		{"start", "CLUSTER [PART...]", "start parts and wait until they are ready", start},
		{"stop", "CLUSTER [PART...]", "end parts with SIGTERM", change(stop)},
		{"kill", "CLUSTER [PART...]", "end parts with SIGKILL", change(kill)},
		{"pause", "CLUSTER [PART...]", "freeze parts with SIGSTOP", change(pause)},
		{"resume", "CLUSTER [PART...]", "thaw paused parts", change(resume)},
		{"snapshot", "CLUSTER NAME", "keep a copy of the cluster's data", snapshot},
		{"restore", "CLUSTER NAME", "go back to a copy: versions go back too, as after a real restore", restore},
		{"cut", "CLUSTER", "take the link of a cluster with its own network namespace down", change(cut)},
		{"heal", "CLUSTER", "take the link up again", change(heal)},
		{"exec", "CLUSTER COMMAND...", "run a command in a cluster's network namespace", execute},
		{"fault", "CLUSTER FAULT...", "set the fault of the cluster's proxy (bed start CLUSTER proxy)", setFault},
		{"apply", "FILE...", "apply YAML files on the server's side, by force", apply},
		{"token", "ACCOUNT", "print a token of a service account", token},
		{"reconcile", "", "run the demo's reconciler, gated by a fence page", reconcile},
		{"demo", "", "run two hubs, a worker and a failover, as a timeline", runDemo},
		{"scenario", "NAME", "run a scenario of an operator on two hubs: " + demo.ScenarioNames(), runScenario},
		{"workers", "[PART...]", "check what three workers see of two hubs: links cut, failovers, stale hubs, hands", checkWorkers},
		{"leader", "", "try to break leadership: situations, random faults, figures", tryLeader},
		{"hostile", "", "let single roles of a Standby turn hostile: what they reach, and that it takes over", checkHostile},
		{"mirror", "", "check the mirror: kinds, operations, rules, situations", checkMirror},
		{"replicas", "", "check mode replicas: three understudyds before one API server", checkReplicas},
		{"rights", "", "check what each identity may do, in every role of a hub", checkRights},
		{"write", "", "write while a fence page allows it, for bed leader (internal)", write},
		{"proxy", "CLUSTER", "be the fault proxy of a cluster (internal)", proxy},
		{"behind", "COMMAND...", "run a command once an API server is ready (internal)", behind},
		{"nolandlock", "COMMAND...", "run a command that finds no Landlock in its kernel (internal)", noLandlock},
		{"guard", "PID START", "take a bed down when a process dies (internal)", guard},
	}
}

// usageError makes main print how the command is called.
type usageError string

func (e usageError) Error() string { return string(e) }

func usage() {
	fmt.Fprintln(os.Stderr, "usage: bed COMMAND [flags] [arguments]; bed COMMAND -h for the flags\n\ncommands:")
	for _, c := range commands {
		fmt.Fprintf(os.Stderr, "  %-34s %s\n", c.name+" "+c.arguments, c.help)
	}
	fmt.Fprintln(os.Stderr, "\nPART is etcd, apiserver, controllers or proxy; without any: all but proxy.")
	os.Exit(2)
}

func main() {
	if len(os.Args) < 2 {
		usage()
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	for _, c := range commands {
		if c.name != os.Args[1] {
			continue
		}
		flags := flag.NewFlagSet("bed "+c.name, flag.ExitOnError)
		flags.Usage = func() {
			fmt.Fprintf(os.Stderr, "usage: bed %s [flags] %s\n%s\n", c.name, c.arguments, c.help)
			flags.PrintDefaults()
		}
		err := c.run(ctx, flags, os.Args[2:])
		var wrong usageError
		if errors.As(err, &wrong) {
			fmt.Fprintf(os.Stderr, "bed %s: %v\n", c.name, err)
			flags.Usage()
			os.Exit(2)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "bed %s: %v\n", c.name, err)
			os.Exit(1)
		}
		return
	}
	usage()
}

// list is a flag that may be given several times, or once with commas.
type list []string

func (l *list) String() string { return strings.Join(*l, ",") }
func (l *list) Set(value string) error {
	*l = append(*l, strings.Split(value, ",")...)
	return nil
}

// each is a flag that may be given several times; a comma is part of the value.
type each []string

func (e *each) String() string { return strings.Join(*e, " ") }
func (e *each) Set(value string) error {
	*e = append(*e, value)
	return nil
}

// beside is a path next to this program: build/bed finds build/kubebed, wherever it is called.
func beside(name string) string {
	self, err := os.Executable()
	if err != nil {
		return name
	}
	return filepath.Join(filepath.Dir(self), name)
}

func dirFlag(flags *flag.FlagSet) *string {
	return flags.String("dir", beside("bed.run"), "the bed's `folder`")
}
