// Package fault is a proxy in front of an API server that breaks HTTP in chosen ways. It presents
// the server's own certificate and passes requests on with their Authorization, so a client with
// a token sees the real server behind it until a fault is set. Client certificates end here.
package fault

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Kind is what happens to a request.
type Kind string

const (
	None   Kind = "none"
	Hang   Kind = "hang"   // connections are accepted and never served; open ones get no answer
	Drop   Kind = "drop"   // the server answers, the client waits for ever
	Reset  Kind = "reset"  // the server answers, the client's request is aborted
	Status Kind = "status" // answered here with Code, the server never sees it
	HTML   Kind = "html"   // answered here with Code and a page, as a misplaced gateway does
	Cut    Kind = "cut"    // the answer's body ends in an abort after Bytes
	Delay  Kind = "delay"  // passed on after Wait
	Edit   Kind = "edit"   // one field of the answer's JSON is another one

	Stall    Kind = "stall"    // the answer's body comes to a halt after Bytes, and nothing ends
	Sever    Kind = "sever"    // the connection is reset, with everything else that runs on it
	Redirect Kind = "redirect" // answered here with Code and a Location that is another place
	Gzip     Kind = "gzip"     // the answer is compressed, though nobody asked for that
	Drip     Kind = "drip"     // the answer's body comes byte by byte, one in each Wait

	// What a confused server, or a cache in front of one, makes of watches and lists.
	Repeat    Kind = "repeat"    // each event of a watch comes twice
	Reorder   Kind = "reorder"   // events of a watch change places with their neighbours
	Stale     Kind = "stale"     // old events of a watch come again behind newer ones
	FirstPage Kind = "firstpage" // the list ends with its first page: its continue token is missing
)

// kinds say which of them are followed by a figure.
var kinds = map[Kind]bool{None: false, Hang: false, Drop: false, Reset: false, Status: true, HTML: true, Cut: true,
	Delay: true, Edit: true, Stall: true, Sever: false, Redirect: true, Gzip: false, Drip: true, Repeat: false, Reorder: false,
	Stale: false, FirstPage: false}

// Fault is a kind with its figures and the requests that it concerns.
type Fault struct {
	Kind       Kind
	Code       int
	RetryAfter string
	Bytes      int64
	Wait       time.Duration
	Field      []string // of Edit: the way to a field of the answer, and
	Value      any      // what it is then; nil takes it away
	Method     string   // "" is any
	Path       string   // a part of path and query; "" is any
	Times      int      // how many requests before it ends; 0 is without end
}

const usage = "none | hang | drop | reset | sever | status CODE [retry-after=SECONDS] | html CODE | redirect CODE | " +
	"cut BYTES | stall BYTES | delay DURATION | drip DURATION | gzip | edit /POINTER=JSON | repeat | reorder | stale | " +
	"firstpage, each with [method=VERB] [path=PART] [times=N]"

// Parse reads a fault as people write it: status 503 retry-after=2 method=GET path=/leases times=3
func Parse(words []string) (Fault, error) {
	wrong := func(what string) (Fault, error) {
		return Fault{}, fmt.Errorf("fault %q: %s, want %s", strings.Join(words, " "), what, usage)
	}
	if len(words) == 0 {
		return wrong("nothing said")
	}
	f := Fault{Kind: Kind(words[0])}
	figure, known := kinds[f.Kind]
	if !known {
		return wrong("no such kind")
	}
	rest := words[1:]
	if figure {
		if len(rest) == 0 {
			return wrong("a figure is missing")
		}
		if err := f.figure(rest[0]); err != nil {
			return wrong(err.Error())
		}
		rest = rest[1:]
	}
	for _, word := range rest {
		if err := f.option(word); err != nil {
			return wrong(err.Error())
		}
	}
	return f, nil
}

func (f *Fault) figure(word string) (err error) {
	switch f.Kind {
	case Status, HTML, Redirect:
		f.Code, err = strconv.Atoi(word)
		if err == nil && (f.Code < 200 || f.Code > 599) {
			err = fmt.Errorf("code %d", f.Code)
		}
	case Cut, Stall:
		f.Bytes, err = strconv.ParseInt(word, 10, 64)
		if err == nil && f.Bytes < 0 {
			err = fmt.Errorf("%d bytes", f.Bytes)
		}
	case Delay, Drip:
		f.Wait, err = time.ParseDuration(word)
	case Edit:
		err = f.edit(word)
	}
	return err
}

// edit reads a JSON pointer (RFC 6901) and, behind "=", what lies there then: JSON without spaces.
func (f *Fault) edit(word string) error {
	pointer, value, found := strings.Cut(word, "=")
	if !found || !strings.HasPrefix(pointer, "/") {
		return fmt.Errorf("%q is no /POINTER=JSON", word)
	}
	for _, name := range strings.Split(pointer[1:], "/") {
		f.Field = append(f.Field, strings.NewReplacer("~1", "/", "~0", "~").Replace(name))
	}
	return json.Unmarshal([]byte(value), &f.Value)
}

func (f *Fault) option(word string) (err error) {
	key, value, _ := strings.Cut(word, "=")
	switch {
	case value == "":
		err = fmt.Errorf("%q has no value", word)
	case key == "method":
		f.Method = value
	case key == "path":
		f.Path = value
	case key == "times":
		f.Times, err = strconv.Atoi(value)
	case key == "retry-after" && f.Kind == Status:
		f.RetryAfter = value
	default:
		err = fmt.Errorf("no option %q here", key)
	}
	return err
}

func (f *Fault) concerns(r *http.Request) bool {
	switch query := r.URL.Query(); f.Kind {
	case Repeat, Reorder, Stale:
		if !isWatch(r) {
			return false
		}
	case FirstPage:
		if isWatch(r) || query.Get("limit") == "" || query.Get("continue") != "" {
			return false
		}
	}
	return f.Kind != None && (f.Method == "" || f.Method == r.Method) &&
		(f.Path == "" || strings.Contains(r.URL.RequestURI(), f.Path))
}
