package mirror

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"understudy.test/bed/fault"
)

// plan breaks the syncer's requests by a seed, until its faults are used up. Which request meets
// which fault depends on the machine's timing; how the faults follow each other does not.
type plan struct {
	mutex  sync.Mutex
	random *rand.Rand
	long   bool // also faults that are only noticed after minutes
	left   int
	stalls int // of watches: each of them costs the mirror 90 s of one kind
	counts map[string]int
}

func newPlan(seed uint64, faults int) *plan {
	return &plan{random: rand.New(rand.NewPCG(seed, 1)), left: faults, long: faults >= 500, counts: map[string]int{}}
}

// sort says what a request is, and how often such a one is broken.
func sort(r *http.Request) (what string, chance float64) {
	query := r.URL.Query()
	switch {
	case r.UserAgent() != "understudy/syncer":
		return "", 0
	case query.Get("watch") != "":
		return "watch", 0.4
	case r.Method != http.MethodGet:
		return "write", 0.15
	case query.Get("limit") != "":
		return "list", 0.3
	}
	return "get", 0.15
}

var codes = []int{401, 403, 410, 429, 500, 503}

// next is the fault for a request.
func (p *plan) next(r *http.Request) fault.Fault {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	what, chance := sort(r)
	if p.left == 0 || p.random.Float64() >= chance {
		return fault.Fault{Kind: fault.None}
	}
	f := p.choose(what)
	p.left--
	p.counts[what+" "+string(f.Kind)]++
	return f
}

func (p *plan) choose(what string) fault.Fault {
	kinds := []fault.Kind{fault.Status, fault.Status, fault.Reset, fault.Sever, fault.HTML, fault.Gzip, fault.Redirect, fault.Cut, fault.Delay}
	switch what {
	case "watch":
		kinds = append(kinds, fault.Cut, fault.Repeat, fault.Repeat, fault.Reorder, fault.Reorder, fault.Stale, fault.Stale)
		if p.long && p.stalls < 3 && p.random.IntN(40) == 0 {
			p.stalls++
			kinds = []fault.Kind{fault.Stall}
		}
	case "list":
		kinds = append(kinds, fault.Drip)
	default:
		kinds = append(kinds, fault.Drop, fault.Drip, fault.Stall, fault.Sever, fault.Sever)
	}
	f := fault.Fault{Kind: kinds[p.random.IntN(len(kinds))]}
	switch f.Kind {
	case fault.Status:
		f.Code = codes[p.random.IntN(len(codes))]
		if f.Code == 429 {
			f.RetryAfter = fmt.Sprint(p.random.IntN(3))
		}
	case fault.HTML:
		f.Code = []int{200, 404, 502}[p.random.IntN(3)]
	case fault.Redirect:
		f.Code = []int{301, 302, 307, 308}[p.random.IntN(4)]
	case fault.Cut, fault.Stall:
		f.Bytes = p.random.Int64N(4000)
	case fault.Delay:
		f.Wait = time.Duration(p.random.IntN(500)) * time.Millisecond
	case fault.Drip:
		f.Wait = 100 * time.Microsecond
	}
	return f
}

func (p *plan) remaining() int {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.left
}

// disconnect counts a fault that ends all connections at once, unless there are none left.
func (p *plan) disconnect() bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.left == 0 {
		return false
	}
	p.left--
	p.counts["connection disconnect"]++
	return true
}

// String counts the faults by what they met, and by their kinds.
func (p *plan) String() string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	by, of, total := map[string]int{}, map[string]int{}, 0
	for name, n := range p.counts {
		what, kind, _ := strings.Cut(name, " ")
		of[what] += n
		by[kind] += n
		total += n
	}
	return fmt.Sprintf("%d faults (%s: %s)", total, sums(of), sums(by))
}

func sums(of map[string]int) string {
	var words []string
	for _, kind := range slices.Sorted(maps.Keys(of)) {
		words = append(words, fmt.Sprintf("%s %d", kind, of[kind]))
	}
	return strings.Join(words, ", ")
}
