// kubebed is a control plane in one file: etcd and etcdutl, the Kubernetes API server, its controllers
// and kubectl, linked from their public modules. The tests run these very programs, so the tool
// that starts them (../bed) needs no download but Go modules, and all parts are of one version.
//
// The first argument names the program, or the name that the file is called by does, as in
// busybox: build/kubectl is a link to it. It adds nothing to the programs but small etcd logs.
package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/etcdutl/v3/etcdutl"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

var programs = map[string]func(){
	"etcd":                    runEtcd,
	"etcdutl":                 runEtcdutl,
	"kube-apiserver":          func() { os.Exit(cli.Run(apiserver.NewAPIServerCommand())) },
	"kube-controller-manager": func() { os.Exit(cli.Run(controllers.NewControllerManagerCommand())) },
	"kubectl":                 func() { os.Exit(cli.Run(kubectl.NewDefaultKubectlCommand())) },
}

// runEtcd sets a segment of the write-ahead log to 4 MiB. etcd allocates two of them at once, 64 MiB
// each by default, and a test bed keeps several etcds in memory.
func runEtcd() {
	wal.SegmentSizeBytes = 4 << 20
	etcdmain.Main(os.Args)
}

// runEtcdutl has of etcdutl what a backup is restored with.
func runEtcdutl() {
	command := &cobra.Command{Use: "etcdutl"}
	command.AddCommand(etcdutl.NewSnapshotCommand())
	if command.Execute() != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

func main() {
	if run, ok := programs[filepath.Base(os.Args[0])]; ok {
		run()
	}
	if len(os.Args) > 1 {
		if run, ok := programs[os.Args[1]]; ok {
			os.Args = os.Args[1:]
			run()
		}
	}
	names := slices.Sorted(maps.Keys(programs))
	fmt.Fprintf(os.Stderr, "usage: kubebed %s [flags]\n", strings.Join(names, "|"))
	os.Exit(2)
}
