package diagnose

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// addressCauses are what happens to an address, for senders that sign it.
var addressCauses = []cause{
	{"url-scheme", "http in place of https", address, "", addresses("the address begins with the other of http and https", func(s *search, u url.URL) []url.URL {
		if u.Scheme == "https" {
			u.Scheme = "http"
		} else {
			u.Scheme = "https"
		}
		return []url.URL{u}
	})},
	{"url-query", "query of the address", address, "", addresses("the address has another query: none, or one that is decoded", func(s *search, u url.URL) []url.URL {
		bare, plain := u, u
		bare.RawQuery = ""
		plain.RawQuery, _ = url.QueryUnescape(u.RawQuery)
		all := []url.URL{bare, plain}
		if own, err := url.Parse(s.Endpoint.PublicURL); err == nil && own.RawQuery != "" {
			bare.RawQuery = own.RawQuery
			all = append(all, bare)
		}
		return all
	})},
	{"url-slash", "slash at the address's end", address, "", addresses("the address ends with a slash, or without one", func(_ *search, u url.URL) []url.URL {
		slash := u
		slash.Path = strings.TrimSuffix(u.Path, "/") + "/"
		u.Path = strings.TrimSuffix(u.Path, "/")
		return []url.URL{u, slash}
	})},
	{"url-prefix", "URL or stage prefix", address, "", addresses("the path of the address has another begin: a stage or a prefix of the way", prefixed)},
	{"url-host", "host of the address", address, "", addresses("the address names the host that the request came to", hosts)},
	{"url-captured", "address of the capture", address, "", addresses("the address is the one that was captured, and not public_url", func(s *search, _ url.URL) []url.URL {
		u, err := url.Parse(s.Request.Target)
		if err != nil {
			return nil
		}
		if u.IsAbs() {
			return []url.URL{*u}
		}
		return hosts(s, *u)
	})},
	{"method", "method", address, "let the sender's own method through, or look for a redirect that changes it", func(s *search, a attempt) []option {
		if s.scheme.Name() != "hubspot" { // alone in signing the method
			return nil
		}
		var options []option
		for _, m := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodGet, http.MethodDelete} {
			options = append(options, option{what: "the method is " + m, apply: func(a attempt) (attempt, bool) {
				changed := a.request.Method != m
				a.request.Method = m
				return a, changed
			}})
		}
		return options
	}},
}

// addresses try other addresses than the one that should be signed, each with http and https.
func addresses(what string, change func(s *search, u url.URL) []url.URL) func(*search, attempt) []option {
	return func(s *search, a attempt) []option {
		if !s.scheme.SignsURL() {
			return nil
		}
		options := []option{}
		now, err := url.Parse(a.request.URL)
		if err != nil {
			return options
		}
		for _, u := range change(s, *now) {
			options = append(options, option{what: what, do: doAddress(u), apply: func(a attempt) (attempt, bool) {
				text := u.String()
				changed := text != a.request.URL
				a.request.URL = text
				return a, changed
			}})
		}
		return options
	}
}

// doAddress says what public_url should be. A query is the delivery's own.
func doAddress(u url.URL) string {
	u.RawQuery, u.Fragment, u.User = "", "", nil
	return "set public_url to the address that the sender has, to the letter: " + printable(u.String())
}

// prefixed are the paths with a stage before them that is not there, or without the one that is.
func prefixed(s *search, u url.URL) []url.URL {
	var all []url.URL
	put := func(path string) {
		changed := u
		changed.Path, changed.RawPath = path, ""
		all = append(all, changed)
	}
	if _, rest, ok := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/"); ok {
		put("/" + rest)
	}
	for _, stage := range []string{"$default", "prod", "Prod", "production", "stage", "Stage", "staging", "dev", "test", "v1", "api", "hooks"} {
		put("/" + stage + u.Path)
	}
	if at := strings.Index(u.Path, "/hooks/"); at > 0 {
		put(u.Path[at:])
	}
	if seen, err := url.Parse(s.Request.Target); err == nil && seen.Path != "" {
		put(seen.Path)
	}
	return all
}

// hosts are the hosts that the request says it came to.
func hosts(s *search, u url.URL) []url.URL {
	var names []string
	h := s.Request.Header()
	for _, name := range []string{"X-Forwarded-Host", "X-Original-Host", "Host"} {
		if v := strings.TrimSpace(strings.Split(h.Get(name), ",")[0]); v != "" && !strings.ContainsAny(v, "/?#@ ") {
			names = append(names, v, strings.Split(v, ":")[0])
		}
	}
	if own := u.Hostname(); own != "" {
		names = append(names, own, own+":443", own+":80")
	}
	var all []url.URL
	for _, name := range slices.Compact(names) {
		for _, scheme := range []string{"https", "http"} {
			changed := u
			changed.Scheme, changed.Host = scheme, name
			all = append(all, changed)
		}
	}
	return all
}
