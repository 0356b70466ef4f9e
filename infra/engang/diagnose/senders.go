package diagnose

import (
	"bytes"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"engang/shared/webhook"
)

// senderCauses are deliveries that are not the provider's, or not of its present kind.
var senderCauses = []cause{
	{"legacy-only", "older signature", sender, "ask the sender for its present signature; legacy: true at the endpoint takes the older one, which proves less", func(s *search, a attempt) []option {
		older, err := schemeOf(s.Endpoint, true)
		if err != nil || s.Endpoint.Legacy {
			return nil
		}
		return []option{{what: "its older signature is taken, the only one that it carries", apply: func(a attempt) (attempt, bool) {
			a.scheme = older
			return a, true
		}}}
	}},
	{"other-provider", "another provider", sender, "", func(s *search, _ attempt) []option {
		options := []option{}
		for _, name := range webhook.Names() {
			row, _ := webhook.Lookup(name)
			if name == s.scheme.Name() || name == "generic" {
				continue
			}
			title := row.About().Title
			options = append(options, option{what: "it is read as a delivery of " + title, do: "set provider: " + name + " at the endpoint", apply: func(a attempt) (attempt, bool) {
				a.scheme = row
				return a, true
			}})
		}
		return options
	}},
}

// looksLike are the providers, but for the endpoint's own, whose signature can be read from the delivery.
func (s *search) looksLike(a attempt) []string {
	var titles []string
	for _, name := range webhook.Names() {
		row, _ := webhook.Lookup(name)
		if name == s.scheme.Name() || name == "generic" || row.SignsURL() && a.request.URL == "" {
			continue
		}
		other := &search{Case: s.Case, scheme: row, canary: row.NewSecret([32]byte{1, 2, 3})}
		other.Certificate = row.TrialCertificate()
		if v := other.probe(attempt{scheme: row, request: a.request}); v.kind == mismatched {
			titles = append(titles, row.About().Title)
		}
	}
	return titles
}

// olderKinds tell a delivery that has an older signature of its provider and no present one.
var olderKinds = map[string]func(r webhook.Request) string{
	"github":  hubSHA1,
	"gitea":   hubSHA1,
	"forgejo": hubSHA1,
	"stripe": func(r webhook.Request) string {
		if h := r.Header.Get("Stripe-Signature"); strings.Contains(h, "v0=") && !strings.Contains(h, "v1=") {
			return "v0, which Stripe writes on test events and which proves nothing"
		}
		return ""
	},
	"paddle": func(r webhook.Request) string {
		if bytes.Contains(r.Body, []byte("p_signature")) {
			return "p_signature of Paddle Classic, which is another product"
		}
		return ""
	},
	"mailgun": func(r webhook.Request) string {
		if fields, err := url.ParseQuery(string(r.Body)); err == nil && fields.Has("token") && fields.Has("signature") {
			return "the form of Mailgun's webhooks before 2018"
		}
		return ""
	},
	"hubspot": func(r webhook.Request) string {
		if r.Header.Get("X-Hubspot-Signature") != "" {
			return "X-HubSpot-Signature of version 1 or 2"
		}
		return ""
	},
	"gitlab": func(r webhook.Request) string {
		if r.Header.Get("X-Gitlab-Token") != "" {
			return "a secret token, where the endpoint has a signing token"
		}
		return ""
	},
}

func hubSHA1(r webhook.Request) string {
	if r.Header.Get("X-Hub-Signature") != "" {
		return "X-Hub-Signature with SHA-1"
	}
	return ""
}

// unset is the value of a signature's header where the sender has no secret: a label and nothing behind.
var unset = regexp.MustCompile(`^(?:.*[,; ])?[A-Za-z0-9]{1,10}[=,]$`)

// surmise says what can be seen where nothing makes the signature fit.
func (s *search) surmise(a attempt, v verdict) {
	older := ""
	if tell := olderKinds[s.scheme.Name()]; tell != nil && v.kind != mismatched {
		older = tell(a.request)
	}
	other := s.looksLike(a)
	before := len(s.report.Found)
	switch {
	case v.kind == headless && older != "":
		s.find("legacy-only", "it carries only "+older, "ask the sender for its present signature")
	case v.kind != mismatched && len(other) > 0:
		s.find("other-provider", "it looks like a delivery of "+strings.Join(other, " or "), "set the endpoint's provider, or give the sender the address of its own endpoint")
	case v.kind == headless:
		s.header(a, v)
	case len(a.request.Body) == 0:
		s.bodyless(a)
	case v.kind == broken:
		s.find("unreadable", v.reason, s.whatBreaks())
	}
	s.unfit()
	if len(a.request.Body) > 0 {
		s.length(a)
	}
	if len(s.report.Found) == before && len(s.Secrets) > 0 {
		s.find("another-secret", "nothing that is known makes it fit: it was signed with another secret, or its body is not what was sent", "compare the secret at the sender with the one in the store, and set it anew at both; "+doCapture)
	}
	if s.cut {
		s.find("too-large", "the body is so large that not everything was tried", "take a smaller delivery of the same sender")
	}
}

// bodyless says that there is no body, where what is signed is known to have one.
func (s *search) bodyless(a attempt) {
	said := ""
	if n, err := strconv.Atoi(a.request.Header.Get("Content-Length")); err == nil && n > 0 {
		said = fmt.Sprintf(" (Content-Length says %d bytes)", n)
	}
	s.report.NotIt = []string{} // of a body that is not there nothing can be told
	s.find("body-empty", "the capture has no body"+said+", and the sender signs one", doCapture+"; --body names a file with it")
}

// header says what is wrong with the header that keeps the signature from being read.
func (s *search) header(a attempt, v verdict) {
	name := v.header.Name
	switch value := strings.TrimSpace(a.request.Header.Get(name)); {
	case v.header.Fault == "is missing":
		s.find("header-missing", "header "+name+" is missing, and no other header holds it", "look whether the sender signs at all, and which proxy lets only known headers through")
	case value == "" || unset.MatchString(value):
		s.find("signature-empty", "header "+name+" holds no signature: the sender has no secret set", "set the secret at the sender")
	default:
		s.find("header-unreadable", "header "+name+" "+v.header.Fault, "look for what on the way changes it")
	}
}

func (s *search) whatBreaks() string {
	if _, needs := s.scheme.CertificateURL(s.asIs().request); needs && len(s.Certificate) == 0 {
		return "let this machine reach the address of the sender's certificate"
	}
	return ""
}

// length compares the body with what its header says.
func (s *search) length(a attempt) {
	n, err := strconv.Atoi(a.request.Header.Get("Content-Length"))
	framed := a.request.Header.Get("Transfer-Encoding") != "" || a.request.Header.Get("Content-Encoding") != ""
	if err == nil && !framed && n != len(a.request.Body) && !slices.ContainsFunc(s.report.Found, func(f Finding) bool { return f.Cause == "header-missing" }) {
		s.find("body-length", fmt.Sprintf("Content-Length says %d and the body has %d bytes: it is not what was sent", n, len(a.request.Body)), doCapture)
	}
}
