package integration_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"engang/infra/local"
	"engang/infra/local/front"
	"engang/infra/local/poller"
)

// The marks of one run: each stands in one kind of what is confidential, and nowhere else.
const (
	markBody    = "mark-body-7731"
	markPerson  = "mark.person.7732@example.com"
	markPrompt  = "mark-prompt-7733"
	markOutput  = "mark-output-7734"
	markRegret  = "mark-regret-7735" // the provider's own words about a failure
	markKey     = "sk-mark-key-7736"
	markAPIBody = "mark-call-7737" // a call of the API that cannot be read
)

// A trail gathers what a whole run tells outside of what it keeps: log and metric lines, answers, messages with their
// attributes, what the program writes.
type trail struct {
	log   *logbook
	model *ear
	all   *trouble
	rest  *restShop

	mu     sync.Mutex
	texts  map[string][]string // by where they were seen
	proofs []string            // signatures that were sent
}

func (l *trail) note(where string, texts ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.texts[where] = append(l.texts[where], texts...)
}

// shown are the addresses whose answers hold content on purpose, to who asked for it by name.
var shown = []string{"/api/reveal", "/api/export", "/api/config", "/api/plan"}

func (l *trail) exchange(e front.Exchange) {
	if !slices.Contains(shown, e.Path) {
		l.note("answer of "+e.Route, string(e.Answer))
	}
}

func (l *trail) batch(b poller.Batch) {
	raw, err := json.Marshal(b.Records)
	l.note("message", string(raw), fmt.Sprint(err, b.Err))
}

// letters notes the dead letters as they are.
func (l *trail) letters(s *system) {
	s.t.Helper()
	for _, m := range s.returned(s.deadLetters()) {
		l.note("dead letter", whole(m))
	}
}

// run runs commands of the program, and notes what they write. A command whose output is content is not noted.
func (l *trail) run(s *system, commands ...[]string) {
	s.t.Helper()
	for _, args := range commands {
		code, stdout, stderr := s.command(args...)
		if code != 0 {
			s.t.Errorf("engang %s: exit %d %.300s", strings.Join(args, " "), code, stderr)
		}
		if !slices.Contains(args, "--output") {
			l.note("engang "+args[0], stdout, stderr)
		}
	}
}

// deliver sends a signed product, and remembers its signature.
func (l *trail) deliver(s *system, p product, change ...func(*http.Request)) answer {
	s.t.Helper()
	r := wooBody("product.updated", p.Body(), change...)(s)
	l.mu.Lock()
	l.proofs = append(l.proofs, signatures(r)...)
	l.mu.Unlock()
	return s.send(r)
}

// marked is a product with marks in every kind of field.
func marked(id int) product {
	return product{ID: id, Name: fmt.Sprintf("Chair %d %s", id, markBody), Modified: "2026-11-29T11:59:58",
		Extra: `,"sku":"` + markBody + `","short_description":"Write to ` + markPerson + `","meta_data":[{"key":"` + markBody + `","value":"` + markBody + `"}],"attributes":[{"name":"` + markBody + `","options":["` + markPerson + `","oak"]}]`}
}

// hurry works until nothing is open, and waits for nothing: what is due later is due now.
func (s *system) hurry() {
	s.t.Helper()
	for began := time.Now(); s.open() > 0; {
		if s.step() == 0 {
			s.hasten()
			s.Restart()
			if err := s.Reconcile(s.t.Context()); err != nil {
				s.t.Logf("reconcile: %v", err)
			}
		}
		if time.Since(began) > time.Minute {
			s.t.Fatalf("%d events are still open", s.open())
		}
	}
}

// A whole run on one system, with marks in everything that is confidential: none stands in what the system tells.
func TestNothingConfidentialIsToldInAWholeRun(t *testing.T) {
	sideBySide(t)
	path := edited(t, "data: {event_days: 30, result_days: 400}", "data: {event_days: 2, result_days: 4}", // an export looks through all those days
		"You write short, factual product texts in the language given.", markPrompt+": you write short, factual product texts in the language given.")
	onEach(t, func(t *testing.T, begin func(local.Options) *system) {
		l := &trail{log: &logbook{to: t.Output()}, all: &trouble{}, rest: openShop(t), texts: map[string][]string{}}
		l.model = &ear{say: telling, regrets: func(answer map[string]any) { answer["error"].(map[string]any)["message"] = markRegret + " " + markBody }}
		s := begin(local.Options{Speed: 20, ConfigFiles: []string{path}, Log: l.log, Judge: l.all.judge, ModelURL: l.model.listen(t), OnExchange: l.exchange, OnBatch: l.batch})
		if err := s.PutSecret(t.Context(), "ssm:models/openai", markKey); err != nil {
			t.Fatal(err)
		}
		s.Restart()
		for _, p := range phases {
			t.Run(p.name, func(t *testing.T) {
				s := s.in(t)
				defer l.all.is(nil)
				p.run(s, l)
				l.letters(s)
			})
		}
		l.note("log", l.log.take())
		l.kept(s)
		l.check(t, s)
	})
}

// telling puts a mark into whatever the model says.
func telling(answer map[string]any) {
	list, _ := answer["output"].([]any)
	for _, item := range list {
		content, _ := item.(map[string]any)["content"].([]any)
		for _, one := range content {
			part := one.(map[string]any)
			if part["refusal"] != nil {
				part["refusal"] = markOutput
			}
			if text, ok := part["text"].(string); ok {
				part["text"] = strings.Replace(text, `"summary":"`, `"summary":"`+markOutput+" ", 1)
			}
		}
	}
}

// kept notes what is stored beside the content itself: keys, reasons, names, attempts.
func (l *trail) kept(s *system) {
	s.t.Helper()
	for _, i := range s.items() {
		if strings.HasPrefix(i["pk"], "C#") {
			continue
		}
		for name, value := range i {
			if name != "body" && name != "out" {
				l.note("attribute "+name, value)
			}
		}
	}
	l.note("key of the bucket", s.objects()...)
}

// check finds marks where none may be, and demands that each was where it belongs.
func (l *trail) check(t *testing.T, s *system) {
	t.Helper()
	var never []string
	for _, mark := range append([]string{markBody, markPerson, markPrompt, markOutput, markRegret, markKey, markAPIBody, restKey, hush}, append(secretTexts(), l.proofs...)...) {
		never = append(never, forms(mark)...)
	}
	for where, texts := range l.texts {
		for _, text := range texts {
			for _, mark := range never {
				if at := strings.Index(text, mark); at >= 0 {
					t.Errorf("%s holds %q: %.300q", where, mark, text[max(at-150, 0):])
				}
			}
		}
	}
	for _, where := range []string{"log", "message", "dead letter", "answer of ANY /hooks/{endpoint}", "engang review", "engang dlq", "engang replay", "engang erase", "attribute why", "attribute att", "attribute note", "key of the bucket"} {
		if len(strings.Join(l.texts[where], "")) < 20 {
			t.Errorf("hardly anything was told in %s: %q", where, l.texts[where])
		}
	}
	asked := fmt.Sprint(l.model.requests())
	if !strings.Contains(asked, markPrompt) || !strings.Contains(asked, markBody) || strings.Contains(asked, markPerson) {
		t.Error("the model was not asked with the marks, or with personal data")
	}
	if found := s.traces(markBody, markOutput, markPerson); !slices.ContainsFunc(found, func(f string) bool { return strings.HasSuffix(f, markOutput) }) || !slices.ContainsFunc(found, func(f string) bool { return strings.HasSuffix(f, markBody) }) {
		t.Errorf("nothing with the marks was kept: %.300q", found)
	}
	l.heard(t)
}

// forms are a text as it may stand in others: as it is, in hexadecimal, and in base64 wherever it begins.
func forms(mark string) []string {
	all := []string{mark, hex.EncodeToString([]byte(mark))}
	for before := range 3 {
		text := base64.StdEncoding.EncodeToString([]byte(strings.Repeat(" ", before) + mark))
		all = append(all, text[(before*8+5)/6:(before+len(mark))*8/6])
	}
	return all
}

func TestMarksAreFoundInEveryForm(t *testing.T) {
	for before := range 7 {
		text := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", before) + markBody + " and more"))
		if !slices.ContainsFunc(forms(markBody), func(f string) bool { return strings.Contains(text, f) }) {
			t.Errorf("not found behind %d bytes", before)
		}
	}
}

// heard demands that the log tells of what happened: a scan of an empty log finds nothing.
func (l *trail) heard(t *testing.T) {
	t.Helper()
	seen, metrics := map[string]bool{}, 0
	for line := range strings.Lines(strings.Join(l.texts["log"], "")) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			continue // the stack of a bug
		}
		if fields["_aws"] != nil {
			metrics++
		}
		seen[fmt.Sprint(fields["function"], ": ", fields["msg"])] = true
	}
	for _, want := range []string{
		"receiver: delivery", "enrichment: message done", "enrichment: message comes again", "enrichment: provider cannot serve", "enrichment: provider is probed", "enrichment: provider serves again",
		"enrichment: personal data masked", "reconciler: swept", "reconciler: event sent again", "reconciler: event parked", "console: call", "console: call refused",
	} {
		if !seen[want] {
			t.Errorf("the log does not tell %q", want)
		}
	}
	if metrics == 0 {
		t.Errorf("no metrics; the log tells %v", seen)
	}
}
