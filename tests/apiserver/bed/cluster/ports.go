package cluster

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// Ports below the range that the kernel gives to outgoing connections: a port that is kept for a
// stopped server must still be free when the server starts again.
const firstPort, lastPort = 21000, 31999

// freePorts finds n ports that nobody listens on. It holds them all until it has the last one,
// so they differ; release lets go of them right before their servers start.
func freePorts(n int) (ports []int, release func(), err error) {
	var held []net.Listener
	release = func() {
		for _, l := range held {
			l.Close()
		}
	}
	for tries := 0; len(ports) < n; tries++ {
		if tries > 100*n {
			release()
			return nil, nil, fmt.Errorf("found no %d free ports from %d to %d", n, firstPort, lastPort)
		}
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		l, err := net.Listen("tcp", fmt.Sprintf(":%d", port))
		if err != nil {
			continue
		}
		held, ports = append(held, l), append(ports, port)
	}
	return ports, release, nil
}

// FreePort is one port of the same kind, for a program that is not part of a cluster.
func FreePort() (int, error) {
	ports, release, err := freePorts(1)
	if err != nil {
		return 0, err
	}
	release()
	return ports[0], nil
}
