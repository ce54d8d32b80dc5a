package client

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/backend/oip/oiptest"
	"github.com/mlperf-go/mlperf/internal/serve/oipserver"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// reply is an answer of HTTP that is no tensors.
func reply(status, headers, body string) string {
	return fmt.Sprintf("HTTP/1.1 %s\r\n%sContent-Length: %d\r\n\r\n%s", status, headers, len(body), body)
}

func TestNoErrorShowsTheToken(t *testing.T) {
	const token = "geheim-0123456789/+="
	for name, answer := range map[string]string{
		"in what it says":            reply("401 Unauthorized", "", `{"error":"incorrect key `+token+`"}`),
		"in JSON of another form":    reply("401 Unauthorized", "", `{"detail":"geheim-0123456789\/+="}`),
		"in no JSON":                 reply("401 Unauthorized", "", "who is "+token+"?"),
		"where it is cut off":        reply("401 Unauthorized", "", strings.Repeat("x", mostSaid-10)+token),
		"in its status":              reply("401 "+token, "", ""),
		"in an address":              reply("302 Found", "Location: https://example.org/?key=geheim-0123456789%2F%2B%3D\r\n", ""),
		"in a header":                reply("200 OK", "Content-Encoding: "+token+"\r\n", "x"),
		"in what should be a number": reply("200 OK", "Inference-Header-Content-Length: "+token+"\r\n", "x"),
		"in what is no HTTP":         token + "\r\n\r\n",
		"in the name of a tensor":    inferred(`{"outputs":[{"name":"`+token+`","datatype":"FP8"}]}`, "", 0),
		"in the id of a request":     inferred(`{"id":"`+token+`","outputs":[]}`, "", 0),
	} {
		t.Run(name, func(t *testing.T) {
			c := open(t, Options{Endpoints: []string{canned(t, answer)}, Token: token})
			_, err := double(t.Context(), c, tensor.New(tensor.Float32, 1, 4))
			_, asked := c.Model(t.Context(), "m", "")
			if err == nil {
				t.Fatal("it is taken for an answer")
			}
			if text := fmt.Sprintf("%v %+v %v %q", err, err, asked, c.Down()); strings.Contains(text, "geheim") {
				t.Errorf("shown is %s", text)
			}
		})
	}
	endpoints, _ := serve(t, oipserver.Config{Models: []oipserver.Model{&oiptest.Doubler{Name: "m", Width: 4}}})
	for _, scheme := range []string{"http", "grpc"} {
		c := open(t, Options{Endpoints: []string{endpoints[scheme]}, Token: token})
		if _, err := c.Model(t.Context(), token, ""); err == nil || !strings.Contains(err.Error(), `no model "[key]"`) {
			t.Errorf("%s: %v", scheme, err)
		}
	}
}

func TestNoErrorShowsThePasswordOfAnAddress(t *testing.T) {
	for _, text := range []string{"http://me:geheim@host", "http://geheim@host", "grpc://me:geheim%zz@host", "dns+http://me:ge@heim@host", "unix://geheim@/path",
		"http://host/?key=geheim", "http://host:x?geheim", "http://host#geheim", "me:geheim@host:80"} {
		err := CheckEndpoint(text)
		if err == nil || strings.Contains(err.Error(), "geheim") || strings.Contains(err.Error(), "heim@") || !strings.Contains(err.Error(), "endpoint \"") {
			t.Errorf("%s: %v", text, err)
		}
		if _, errNew := New(t.Context(), Options{Endpoints: []string{text}}); errNew == nil || errNew.Error() != err.Error() {
			t.Errorf("%s: New says %v, want %v", text, errNew, err)
		}
	}
	for _, text := range []string{"http://host:65536", "grpcs://host:0", "dns:///host:99999"} {
		if err := CheckEndpoint(text); err == nil || !strings.HasSuffix(err.Error(), " is no port, want a number from 1 to 65535") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if err := CheckEndpoint("http://host:65535"); err != nil {
		t.Error(err)
	}
	if err := CheckEndpoint("http://host:x"); err == nil || !strings.Contains(err.Error(), `invalid port ":x"`) {
		t.Errorf("without a password the cause is said: %v", err)
	}
}

func TestWhatAServerSaysIsOneShortLine(t *testing.T) {
	for in, want := range map[string]string{
		" a\r\n\tb  ":         "a b",
		"\x1b[2Jgone\a\u202e": "?[2Jgone??",
		"no \xff UTF-8":       "no ? UTF-8",
		"é😀":                  "é😀",
		"":                    "",
	} {
		if got := describe(in, ""); got != want {
			t.Errorf("describe(%q) = %q, want %q", in, got, want)
		}
	}
	for n := range 4 { // the cut is in all places of a letter
		got := describe(strings.Repeat("x", n)+strings.Repeat("😀", mostSaid), "")
		if !utf8.ValidString(got) || !strings.HasSuffix(got, "😀…") || len(got) > mostSaid+len("…") {
			t.Errorf("%d bytes before: %q", n, got)
		}
	}
	if long := strings.Repeat("x", mostSaid); describe(long, "") != long || describe(long+"y", "") != long+"…" {
		t.Error("what is just short enough is not said whole")
	}
}
