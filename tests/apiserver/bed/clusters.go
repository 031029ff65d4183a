package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"understudy.test/bed/cluster"
	"understudy.test/bed/kube"
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
		if c.Running(cluster.Proxy) {
			fmt.Printf(" at %s", c.ProxyURL())
		}
		fmt.Println()
	}
	return nil
}

// whole parses the flags and finds the cluster that the first argument names.
func whole(flags *flag.FlagSet, args []string) (c *cluster.Cluster, rest []string, err error) {
	dir := dirFlag(flags)
	flags.Parse(args)
	if flags.NArg() == 0 {
		return nil, nil, usageError("name a cluster")
	}
	b, err := cluster.Open(*dir)
	if err != nil {
		return nil, nil, err
	}
	c, err = b.Cluster(flags.Arg(0))
	return c, flags.Args()[1:], err
}

// target is whole for commands whose other arguments are parts.
func target(flags *flag.FlagSet, args []string) (*cluster.Cluster, []cluster.Part, error) {
	c, rest, err := whole(flags, args)
	if err != nil {
		return nil, nil, err
	}
	parts, err := cluster.Parts(rest)
	if err != nil {
		return nil, nil, usageError(err.Error())
	}
	return c, parts, nil
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

func snapshot(_ context.Context, flags *flag.FlagSet, args []string) error {
	return named(flags, args, (*cluster.Cluster).Snapshot)
}

func restore(_ context.Context, flags *flag.FlagSet, args []string) error {
	return named(flags, args, (*cluster.Cluster).Restore)
}

// named does something to a cluster with a name that the caller chose.
func named(flags *flag.FlagSet, args []string, do func(*cluster.Cluster, string) error) error {
	c, rest, err := whole(flags, args)
	if err != nil {
		return err
	}
	if len(rest) != 1 {
		return usageError("name a cluster and a snapshot")
	}
	return do(c, rest[0])
}

// execute becomes the command, in the cluster's network namespace where it has one.
func execute(_ context.Context, flags *flag.FlagSet, args []string) error {
	c, rest, err := whole(flags, args)
	if err != nil {
		return err
	}
	if len(rest) == 0 {
		return usageError("name a command")
	}
	argv := append(c.Enter(), rest...)
	program, err := exec.LookPath(argv[0])
	if err != nil {
		return err
	}
	return syscall.Exec(program, argv, os.Environ())
}

// behind becomes the command as soon as the API server says that it is ready.
func behind(ctx context.Context, flags *flag.FlagSet, args []string) error {
	kubeconfig := kubeconfigFlag(flags)
	flags.Parse(args)
	if flags.NArg() == 0 || *kubeconfig == "" {
		return usageError("want --kubeconfig and a command")
	}
	client, err := kube.Load(*kubeconfig)
	if err != nil {
		return err
	}
	for {
		if _, err := client.Do(ctx, http.MethodGet, "/readyz", "", nil); err == nil {
			break
		}
		if !kube.Pause(ctx, 50*time.Millisecond) {
			return ctx.Err()
		}
	}
	return syscall.Exec(flags.Arg(0), flags.Args(), os.Environ())
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
