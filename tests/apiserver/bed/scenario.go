package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"understudy.test/bed/cluster"
	"understudy.test/bed/demo"
	"understudy.test/bed/pair"
)

// noLandlock becomes a command, as on a kernel without Landlock.
func noLandlock(ctx context.Context, flags *flag.FlagSet, args []string) error {
	if len(args) == 0 {
		return usageError("want a command")
	}
	path, err := exec.LookPath(args[0])
	if err != nil {
		return err
	}
	return pair.ExecWithoutLandlock(path, args, os.Environ())
}

// runScenario brings up clusters and a pair, runs one scenario, and takes all down unless it is to
// be kept. Each fact is a line `ok - ...`.
func runScenario(ctx context.Context, flags *flag.FlagSet, args []string) error {
	dir := dirFlag(flags)
	keep := flags.Bool("keep", false, "leave everything up at the end")
	write := flags.Bool("write", false, "runbook: put what the commands print into the page")
	flags.Parse(args)
	if flags.NArg() != 1 {
		return usageError("one scenario is wanted: " + demo.ScenarioNames())
	}
	begin := time.Now()
	o := demo.Options{Root: root(), Out: os.Stdout, Check: true, Rewrite: *write, Lease: pair.FastLease}
	bed, err := standardBed(ctx, *dir, *keep)
	if err != nil {
		return err
	}
	o.Bed, o.Dir = bed, filepath.Join(bed.Dir, "pair")
	p, err := demo.RunScenario(ctx, o, flags.Arg(0), begin)
	if *keep && p != nil {
		lookAround(p, bed)
	} else {
		if p != nil {
			p.Close()
		}
		if downErr := cluster.Down(*dir, true); err == nil {
			err = downErr
		}
	}
	if err != nil {
		notOK(flags.Arg(0), err, o.Dir)
		return fmt.Errorf("FAILED: %w; logs: %s/*.log and %s/*/*.log", err, o.Dir, bed.Dir)
	}
	fmt.Printf("scenario %s: passed in %.0f s\n", flags.Arg(0), time.Since(begin).Seconds())
	return nil
}
