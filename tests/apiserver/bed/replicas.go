package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"understudy.test/bed/cluster"
	"understudy.test/bed/replicas"
)

// checkReplicas brings up one cluster and three replicas on it, and takes all down at the end.
func checkReplicas(ctx context.Context, flags *flag.FlagSet, args []string) error {
	dir := dirFlag(flags)
	flags.Parse(args)
	begin := time.Now()
	if err := cluster.Down(*dir, false); err != nil {
		return err
	}
	bed, err := cluster.Up(ctx, cluster.Options{Dir: *dir, Launcher: beside("bed"), Kubebed: beside("kubebed"),
		Owner: os.Getpid(), Names: []string{"hub"}})
	if err != nil {
		return err
	}
	logs := filepath.Join(bed.Dir, "replicas")
	err = replicas.Run(ctx, replicas.Options{Root: root(), Dir: logs, Bed: bed, Out: os.Stdout, Begin: begin})
	if downErr := cluster.Down(*dir, true); err == nil {
		err = downErr
	}
	if err != nil {
		notOK("replicas", err, logs)
		return err
	}
	fmt.Printf("replicas: passed in %.0f s\n", time.Since(begin).Seconds())
	return nil
}
