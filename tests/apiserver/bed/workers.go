package main

import (
	"context"
	"flag"
	"os"
	"path/filepath"

	"understudy.test/bed/cluster"
	"understudy.test/bed/many"
	"understudy.test/bed/workers"
)

// checkWorkers brings up two hubs and three workers, each in a network of its own, and holds what the
// workers see against the rules, one line a check.
func checkWorkers(ctx context.Context, flags *flag.FlagSet, args []string) error {
	dir := dirFlag(flags)
	keep := flags.Bool("keep", false, "leave everything up at the end")
	bench := flags.Bool("bench", false, "print figures of a hub with 200 workers instead")
	flags.Parse(args)
	if *bench {
		return benchWorkers(ctx, *dir)
	}
	bed, err := isolatedBed(ctx, *dir, *keep, workers.Names)
	if err != nil {
		return err
	}
	err = workers.Run(ctx, workers.Options{Root: root(),
		Dir: filepath.Join(bed.Dir, "pair"), Bed: bed, Out: os.Stdout, Parts: flags.Args()})
	if err != nil {
		tails(filepath.Join(bed.Dir, "pair"))
	}
	if *keep {
		return err
	}
	if downErr := cluster.Down(*dir, true); err == nil {
		err = downErr
	}
	return err
}

// benchWorkers measures re-pointing on one real API server that is two hundred workers.
func benchWorkers(ctx context.Context, dir string) error {
	bed, err := standardBed(ctx, dir, false)
	if err != nil {
		return err
	}
	err = many.Bench(ctx, many.Options{Root: root(), Dir: filepath.Join(bed.Dir, "pair"), Bed: bed, Out: os.Stdout, Workers: 200, Dead: 50})
	if downErr := cluster.Down(dir, err != nil); err == nil {
		err = downErr
	}
	return err
}
