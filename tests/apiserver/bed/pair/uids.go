package pair

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
)

// uidRange is how far apart the uids of two hubs lie.
const uidRange = 100

// freeUIDs is the first uid of two ranges that nobody runs under: another pair may be up, from a
// demo that was kept, and understudyd refuses to share its uids. It looks from a random place on,
// so that two pairs that start at the same moment seldom choose alike.
func freeUIDs() int {
	const first, last = 20000, 25800
	used := map[int]bool{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		status, err := os.ReadFile(filepath.Join("/proc", e.Name(), "status"))
		if err != nil {
			continue
		}
		if uid, err := strconv.Atoi(field(status, "Uid:")); err == nil {
			used[uid/uidRange] = true
		}
	}
	base := first + 2*uidRange*rand.IntN(15)
	for base < last && (used[base/uidRange] || used[base/uidRange+1]) {
		base += 2 * uidRange
	}
	return base
}
