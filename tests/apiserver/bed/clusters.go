package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"understudy.test/bed/cluster"
)

func up(ctx context.Context, flags *flag.FlagSet, args []string) error {
	o := cluster.Options{Launcher: beside("bed")}
	dir := dirFlag(flags)
	flags.IntVar(&o.Owner, "owner", 0, "take the bed down when this `pid` dies")
	flags.StringVar(&o.Kubebed, "kubebed", beside("kubebed"), "the control-plane `program`")
	flags.Var((*list)(&o.Isolated), "netns", "the `clusters` that get their own network namespace")
	flags.Var((*each)(&o.EtcdFlags), "etcd-flag", "one more `flag` for each etcd")
	flags.Var((*each)(&o.APIServerFlags), "apiserver-flag", "one more `flag` for each API server")
	flags.Parse(args)
	if flags.NArg() == 0 {
		return usageError("name the clusters")
	}
	o.Dir, o.Names = *dir, flags.Args()
	begin := time.Now()
	b, err := cluster.Up(ctx, o)
	if err != nil {
		return err
	}
	for _, c := range b.Clusters {
		fmt.Printf("%-10s %s  %s\n", c.Name, c.URL(), c.Kubeconfig())
	}
	fmt.Printf("ready in %.1f s\n", time.Since(begin).Seconds())
	return nil
}

func down(_ context.Context, flags *flag.FlagSet, args []string) error {
	dir := dirFlag(flags)
	keep := flags.Bool("keep-logs", false, "leave the logs in the folder")
	flags.Parse(args)
	return cluster.Down(*dir, *keep)
}

func status(_ context.Context, flags *flag.FlagSet, args []string) error {
	dir := dirFlag(flags)
	flags.Parse(args)
	b, err := cluster.Open(*dir)
	if err != nil {
		return err
	}
	for _, c := range b.Clusters {
		fmt.Printf("%-10s %s ", c.Name, c.URL())
		for _, part := range append(cluster.ControlPlane, cluster.Proxy) {
			if c.Running(part) {
				fmt.Printf(" %s", part)
			}
		}
		fmt.Println()
	}
	return nil
}

// target parses the flags and finds the cluster and the parts that a command line names.
func target(flags *flag.FlagSet, args []string) (*cluster.Cluster, []cluster.Part, error) {
	dir := dirFlag(flags)
	flags.Parse(args)
	if flags.NArg() == 0 {
		return nil, nil, usageError("name a cluster")
	}
	parts, err := cluster.Parts(flags.Args()[1:])
	if err != nil {
		return nil, nil, usageError(err.Error())
	}
	b, err := cluster.Open(*dir)
	if err != nil {
		return nil, nil, err
	}
	c, err := b.Cluster(flags.Arg(0))
	return c, parts, err
}

func start(ctx context.Context, flags *flag.FlagSet, args []string) error {
	noWait := flags.Bool("no-wait", false, "do not wait until the parts are ready")
	timeout := flags.Duration("timeout", time.Minute, "how long to wait")
	c, parts, err := target(flags, args)
	if err != nil {
		return err
	}
	if err := c.Start(parts...); err != nil || *noWait {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, *timeout)
	defer cancel()
	for _, part := range parts {
		if err := c.Await(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

func stop(c *cluster.Cluster, parts []cluster.Part) error   { return c.Stop(parts...) }
func kill(c *cluster.Cluster, parts []cluster.Part) error   { return c.Kill(parts...) }
func pause(c *cluster.Cluster, parts []cluster.Part) error  { return c.Pause(parts...) }
func resume(c *cluster.Cluster, parts []cluster.Part) error { return c.Resume(parts...) }
func cut(c *cluster.Cluster, _ []cluster.Part) error        { return c.Cut() }
func heal(c *cluster.Cluster, _ []cluster.Part) error       { return c.Heal() }

// change is a command that does one thing to parts of one cluster.
func change(do func(*cluster.Cluster, []cluster.Part) error) func(context.Context, *flag.FlagSet, []string) error {
	return func(_ context.Context, flags *flag.FlagSet, args []string) error {
		c, parts, err := target(flags, args)
		if err != nil {
			return err
		}
		return do(c, parts)
	}
}

// execute becomes the command, in the cluster's network namespace where it has one.
func execute(_ context.Context, flags *flag.FlagSet, args []string) error {
	dir := dirFlag(flags)
	flags.Parse(args)
	if flags.NArg() < 2 {
		return usageError("name a cluster and a command")
	}
	b, err := cluster.Open(*dir)
	if err != nil {
		return err
	}
	c, err := b.Cluster(flags.Arg(0))
	if err != nil {
		return err
	}
	argv := append(c.Enter(), flags.Args()[1:]...)
	program, err := exec.LookPath(argv[0])
	if err != nil {
		return err
	}
	return syscall.Exec(program, argv, os.Environ())
}

func guard(_ context.Context, flags *flag.FlagSet, args []string) error {
	dir := dirFlag(flags)
	flags.Parse(args)
	pid, pidErr := strconv.Atoi(flags.Arg(0))
	start, startErr := strconv.ParseUint(flags.Arg(1), 10, 64)
	if flags.NArg() != 2 || pidErr != nil || startErr != nil {
		return usageError("want a pid and its start time")
	}
	return cluster.Guard(*dir, pid, start)
}
