package diagnose

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"engang/shared/webhook"
)

// maxDepth is how many headers may be out of order: id, time and signature.
const maxDepth = 3

// repair finds ways to read headers that a proxy has changed. Where one makes the signature fit, it is
// the only one.
func (s *search) repair(a attempt, depth int) []base {
	left := maxRepairs
	return s.repairing(a, depth, &left)
}

func (s *search) repairing(a attempt, depth int, left *int) []base {
	v := s.probe(a)
	if v.kind != headless {
		return []base{{attempt: a}}
	}
	var all []base
	for _, o := range s.headerOptions(a, v.header) {
		if depth == 0 || *left == 0 {
			break
		}
		*left--
		changed, _ := o.apply(a)
		if next := s.probe(changed); next.kind == broken || next.kind == headless && next.header.Name == v.header.Name {
			continue
		}
		for _, b := range s.repairing(changed, depth-1, left) {
			b.steps = append([]step{{o.code, o.what, headerDo[o.code]}}, b.steps...)
			if s.probe(b.attempt).kind == fits {
				return []base{b}
			}
			all = append(all, b)
		}
	}
	return all
}

// A headerOption is one way to read a header.
type headerOption struct {
	code string
	option
}

var headerDo = map[string]string{
	"header-repeated":    "look for the proxy that writes the header a second time, and take one of the two away there",
	"header-joined":      "look for the proxy or gateway that joins headers of one name, and keep it from doing so",
	"header-renamed":     "let the proxy keep the header's name, or put the value back before the receiver",
	"header-wrapped":     "look for what on the way quotes, escapes or decodes values of headers",
	"signature-encoding": "look for what on the way reads the signature and writes it anew",
}

// headerOptions are the ways to read a header that cannot be read as it is.
func (s *search) headerOptions(a attempt, fault *webhook.HeaderError) []headerOption {
	name, values := fault.Name, a.request.Header.Values(fault.Name)
	one := func(code, what, value string) headerOption {
		return headerOption{code, option{what: what, apply: func(a attempt) (attempt, bool) {
			a.request.Header = a.request.Header.Clone()
			a.request.Header.Set(name, value)
			return a, true
		}}}
	}
	var all []headerOption
	switch {
	case len(values) > 1:
		distinct := slices.Compact(slices.Sorted(slices.Values(values)))
		what := "header " + name + ", which stands more than once, is read once"
		if s.spelled(name) > 1 {
			what = "header " + name + ", which stands there in two cases of letters, is read once"
		}
		for _, value := range distinct {
			all = append(all, one("header-repeated", what, value))
		}
		return all
	case len(values) == 0:
		for _, other := range s.alike(name) {
			all = append(all, one("header-renamed", "the value of header "+printable(other.name)+" is read as "+name, other.value))
		}
		return all
	}
	value := values[0]
	for _, piece := range unjoined(value) {
		all = append(all, one("header-joined", "one of the values that are joined in header "+name+" is read alone", piece))
	}
	for _, plain := range unwrapped(value) {
		all = append(all, one("header-wrapped", "header "+name+" is read without the quotation marks, spaces or escapes that were put there", plain))
	}
	for _, sum := range s.reencoded(a, name, value) {
		all = append(all, one("signature-encoding", "the signature in header "+name+" is written as the provider writes it", sum))
	}
	return all
}

// spelled counts the ways in which a name is written in the capture.
func (s *search) spelled(name string) int {
	var ways []string
	for _, h := range s.Request.Headers {
		if http.CanonicalHeaderKey(h.Name) == name && !slices.Contains(ways, h.Name) {
			ways = append(ways, h.Name)
		}
	}
	return len(ways)
}

type named struct{ name, value string }

// alike are the headers that may hold what another should, those with a similar name first.
func (s *search) alike(name string) []named {
	var similar, rest []named
	plain := func(text string) string { return strings.ReplaceAll(strings.ToLower(text), "_", "-") }
	for _, h := range s.Request.Headers {
		at := named{h.Name, h.Value}
		switch a, b := plain(h.Name), plain(name); {
		case strings.Contains(a, b), strings.HasSuffix(b, a) && strings.Count(a, "-") > 0:
			similar = append(similar, at)
		case !slices.Contains(common, a):
			rest = append(rest, at)
		}
	}
	return append(similar, rest...)
}

// common are headers that hold no signature, id or time of a sender.
var common = []string{"host", "user-agent", "accept", "accept-encoding", "content-type", "content-length", "connection", "transfer-encoding", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-port", "via", "date"}

var labelled = regexp.MustCompile(`,\s*(v[0-9]+a?,|sha[0-9]+=|t=|ts=)`)

// unjoined are the values that a proxy may have joined.
func unjoined(value string) []string {
	var all []string
	if at := labelled.FindAllStringIndex(value, -1); len(at) > 0 {
		begin := 0
		for _, m := range append(at, []int{len(value), len(value)}) {
			all = append(all, strings.Trim(value[begin:m[0]], ", "))
			begin = m[0] + 1
		}
		all = append(all, strings.TrimSpace(labelled.ReplaceAllString(value, " $1"))) // a list that should have spaces
	}
	for _, mark := range []string{", ", ","} {
		if pieces := strings.Split(value, mark); len(pieces) > 1 {
			all = append(all, pieces...)
		}
	}
	return fresh(value, all)
}

// untangle finds the header that stands more than once, or whose values something has joined, and without
// that could be read. It tells whether it has named one; the delivery as it reads then is sure where all
// values were the same.
func (s *search) untangle(a attempt, reads func(attempt) bool) (once attempt, sure, named bool) {
	for _, name := range headerNames(a.request.Header) {
		values := a.request.Header[name]
		code, what := "header-repeated", fmt.Sprintf("stands there %d times", len(values))
		if len(values) == 1 {
			values = unjoined(values[0])
			code, what = "header-joined", "holds values that something has joined"
		}
		distinct := slices.Compact(slices.Sorted(slices.Values(values)))
		if len(distinct) > 1 {
			what += ", with different values"
		}
		for _, value := range distinct {
			if once := a.having(name, strings.TrimSpace(value)); reads(once) {
				s.find(code, "header "+printable(name)+" "+what+": none of them is taken", headerDo[code])
				return once, len(distinct) == 1, true
			}
		}
	}
	return a, false, false
}

// unwrapped is a value without what is put around values on the way.
func unwrapped(value string) []string {
	plain := strings.Trim(strings.TrimSpace(value), "\"'`<>")
	all := []string{strings.TrimSpace(plain), strings.ReplaceAll(plain, " ", "+"), plain + strings.Repeat("=", (4-len(plain)%4)%4), strings.TrimSuffix(plain, ";")}
	if decoded, err := url.PathUnescape(plain); err == nil {
		all = append(all, decoded)
	}
	for _, scheme := range []string{"Bearer ", "HMAC ", "Signature "} {
		all = append(all, strings.TrimPrefix(plain, scheme))
	}
	return fresh(value, all)
}

// fresh are the texts that are new.
func fresh(known string, all []string) []string {
	var out []string
	for _, text := range all {
		if text != "" && text != known && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

var sealed = regexp.MustCompile(`^(.*?)([0-9a-f]{64}|[0-9a-f]{40}|[A-Za-z0-9+/]{43}=|[A-Za-z0-9+/]{27}=)$`)

// reencoded is a sum in the form in which the provider writes it, whose form is known from signing.
func (s *search) reencoded(a attempt, name, value string) []string {
	signed, err := a.scheme.Sign(webhook.Request{Method: http.MethodPost, URL: a.request.URL, Header: http.Header{}, Body: []byte("{}")}, s.canary, s.Now)
	if err != nil {
		return nil
	}
	m := sealed.FindStringSubmatch(signed.Header.Get(name))
	if m == nil || strings.ContainsAny(m[1], "0123456789") && len(m[1]) > 12 { // with a time in front it is no sum alone
		return nil
	}
	isHex := len(m[2]) == 64 || len(m[2]) == 40
	size := map[int]int{64: 32, 40: 20, 44: 32, 28: 20}[len(m[2])]
	text := strings.Trim(value, " \"'")
	var all []string
	for _, candidate := range []string{text, text[strings.LastIndexAny(text, "=,: ")+1:], strings.TrimPrefix(text, m[1]), text[strings.IndexAny(text, "=,: ")+1:]} {
		sum, ok := decoded(candidate, size)
		switch {
		case !ok:
		case isHex:
			all = append(all, m[1]+hex.EncodeToString(sum))
		default:
			all = append(all, m[1]+base64.StdEncoding.EncodeToString(sum))
		}
	}
	return fresh(value, all)
}

// decoded reads a sum of so many bytes in any encoding that is used for sums.
func decoded(text string, size int) ([]byte, bool) {
	if sum, err := hex.DecodeString(text); err == nil && len(sum) == size {
		return sum, true
	}
	for _, e := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		if sum, err := e.DecodeString(text); err == nil && len(sum) == size {
			return sum, true
		}
	}
	return nil, false
}
