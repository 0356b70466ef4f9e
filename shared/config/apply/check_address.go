package apply

import (
	"net/netip"
	"net/url"
	"regexp"
	"strings"
)

// url refuses addresses that hold a secret or that lead elsewhere than they say.
func (c *checker) url(at, text string) (*url.URL, bool) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "":
		c.faults.add(at, "no absolute address", "write https://HOST/PATH")
	case u.User != nil:
		c.faults.add(at, "an address with a name or a secret in it", "leave out what stands before the @")
	case u.RawQuery != "" || u.Fragment != "":
		c.faults.add(at, "an address with a query or a fragment", "leave it out: it is written to logs on the way")
	case u.Scheme != "https" && !(u.Scheme == "http" && loopback(u.Hostname())):
		c.faults.add(at, "an address without encryption", "use https")
	case loopback(u.Hostname()) && c.set.Scope.Environment == "production":
		c.faults.add(at, "an address of the machine itself", "use the address under which others reach it")
	default:
		return u, true
	}
	return nil, false
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// numeric is a last part of a host's name by which it is read as an IP address, as a whole or in parts.
var numeric = regexp.MustCompile(`(?i)(^|\.)([0-9]+|0x[0-9a-f]*)$`)

// baseURL is the address of a provider of models.
func (c *checker) baseURL(at, text string) {
	c.keyAddress(at, text, "write the provider's own address, or leave it out; engang local has a model of its own, whatever stands here")
}

// keyAddress holds an address that a key goes to to more: only a name that a certificate can prove is taken, in a
// test too.
func (c *checker) keyAddress(at, text, remedy string) (*url.URL, bool) {
	u, ok := c.url(at, text)
	if !ok {
		return nil, false
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	_, err := netip.ParseAddr(host)
	switch {
	case u.Scheme != "https":
		c.faults.add(at, "an address without encryption: the key would go there", "use https")
	case err == nil || numeric.MatchString(host):
		c.faults.add(at, "an IP address: the key would go there, and no name proves whose it is", remedy)
	case host == "localhost" || strings.HasSuffix(host, ".localhost"):
		c.faults.add(at, "an address of the machine itself: the key would go there", remedy)
	case !strings.Contains(strings.Trim(host, "."), "."):
		c.faults.add(at, "no full name of a host: the key would go to whatever the network calls so", remedy)
	default:
		return u, true
	}
	return nil, false
}
