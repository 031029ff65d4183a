package main

import (
	"context"
	"flag"
	"os"
	"path/filepath"

	"understudy.test/bed/cluster"
	"understudy.test/bed/mirror"
)

// checkMirror brings up a pair and holds the mirror against its rules, one line a check.
func checkMirror(ctx context.Context, flags *flag.FlagSet, args []string) error {
	dir := dirFlag(flags)
	flags.Parse(args)
	bed, err := standardBed(ctx, *dir, false)
	if err != nil {
		return err
	}
	err = mirror.Run(ctx, mirror.Options{Root: root(),
		Dir: filepath.Join(bed.Dir, "pair"), Bed: bed, Out: os.Stdout})
	if downErr := cluster.Down(*dir, err != nil); err == nil {
		err = downErr
	}
	return err
}
