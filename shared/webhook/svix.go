package webhook

import "net/http"

// svixNames are the headers of Svix; standardNames those that it sends when it is asked not to name itself.
var (
	svixNames     = [3]string{"Svix-Id", "Svix-Timestamp", "Svix-Signature"}
	standardNames = [3]string{standardID, standardStamp, standardSignatures}
)

// svix signs as Standard Webhooks does, under header names of its own. The falling back to the general
// names is Svix's: one missing header of its own is enough, if the three general ones are there.
var svix = Scheme{
	name:      "svix",
	key:       standardKey,
	terms:     whsecTerms,
	proof:     func(r Request) (proof, error) { return proofUnder(svixHeaders(r.Header), r) },
	messages:  standardMessages,
	window:    fiveMinutes,
	seal:      sealUnder(svixNames, "msg_"),
	eventType: at("/type"),
	eventKey:  svixID,
	digest:    valueDigest,
	senderID:  svixID,

	versionText: bodyTime,
}

func svixHeaders(h http.Header) [3]string {
	if missingOne(h, svixNames) && !missingOne(h, standardNames) {
		return standardNames
	}
	return svixNames
}

func missingOne(h http.Header, names [3]string) bool {
	for _, name := range names {
		if len(h.Values(name)) == 0 {
			return true
		}
	}
	return false
}

func svixID(r reading) string { return header(svixHeaders(r.Header)[0])(r) }
