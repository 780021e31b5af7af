// Package identity is a client of identity-service: every operation of its document, signed challenges, capability tokens, retries, pages,
// and logs that are checked offline. It needs the standard library alone.
package identity

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Options of a client. What is zero has its default.
type Options struct {
	// URL is the service, without the prefix of its operations.
	URL    string
	APIKey string
	// Token gives an access token for each request, where there is no APIKey.
	Token func(context.Context) (string, error)
	// Origin is the public_url of the service where that is not URL: challenges of any other are not signed.
	Origin string
	// Timeout is for one attempt (30 s).
	Timeout time.Duration
	// Retries is how often more than once (2; below 0 never).
	Retries int
	// MaxWait is the longest wait before an attempt (60 s). A longer Retry-After is returned as an error.
	MaxWait time.Duration
	// MaxAnswerOctets (16 MiB) and MaxPages (10,000) limit endless responses.
	MaxAnswerOctets int64
	MaxPages        int
	// OnRequest sees each attempt before it is sent, that for a challenge too, and may add headers. It holds the Authorization.
	OnRequest func(*http.Request)
	// OnResponse sees what came back, without its body.
	OnResponse func(*http.Response)
	// HTTP sends the requests. Redirects are never followed.
	HTTP *http.Client
}

// Client has a method for each operation, which may be called from several goroutines at once.
type Client struct {
	options Options
	signer  *Signer
}

// IdentityError reports that the service refused (Code is one of the document's), gave no answer (UNREACHABLE, with the Cause), or none that can
// be read (UNREADABLE).
type IdentityError struct {
	Status  int
	Code    string
	Message string
	Details map[string]any
	// RetryAfter is the wait that the service requires, nil if it requires none.
	RetryAfter *time.Duration
	Cause      error
}

func (e *IdentityError) Error() string { return fmt.Sprintf("%d %s: %s", e.Status, e.Code, e.Message) }

func (e *IdentityError) Unwrap() error { return e.Cause }

// RequestID is the id of the request in the service's log; empty if there is none.
func (e *IdentityError) RequestID() string {
	id, _ := e.Details["requestId"].(string)
	return id
}

// Remedy is what can be done about it; empty if the service gave none.
func (e *IdentityError) Remedy() string {
	text, _ := e.Details["remedy"].(string)
	return text
}

// ServiceError has the name of version 1.0.
//
// Deprecated: leaves in 1.2; use IdentityError.
type ServiceError = IdentityError

// operation is the place of an operation, and how it is requested. Its values are those of path, query and header, by their names in the
// document.
type operation struct {
	method, path, scheme, purpose string
	query, headers, forms         []string
	idempotent, keyed             bool
}

var (
	placeholder = regexp.MustCompile(`\{(\w+)\}`)
	seconds     = regexp.MustCompile(`^[0-9]{1,9}$`)
)

// New makes a client.
func New(options Options) *Client {
	options.URL = strings.TrimRight(options.URL, "/")
	options.Origin = or(options.Origin, options.URL)
	options.Timeout = or(options.Timeout, 30*time.Second)
	options.Retries = or(options.Retries, 2)
	options.MaxWait = or(options.MaxWait, time.Minute)
	options.MaxAnswerOctets = or(options.MaxAnswerOctets, 16<<20)
	options.MaxPages = or(options.MaxPages, 10_000)
	sender := *or(options.HTTP, &http.Client{})
	sender.Timeout = options.Timeout
	sender.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	options.HTTP = &sender
	return &Client{options: options}
}

// As returns the same service, with operations of a DID signed by signer.
func (c *Client) As(signer Signer) *Client { return &Client{c.options, &signer} }

// call sends an operation: createDid with options.strictEvidence, and as it is to a method whose entries hold no evidence.
func call[T any](ctx context.Context, c *Client, asked operation, values map[string]string, content any) (T, error) {
	if wanted, isCreate := content.(CreateDidRequest); isCreate {
		options := *or(wanted.Options, &CreateDidOptions{})
		if options.StrictEvidence == nil {
			options.StrictEvidence, wanted.Options = Ptr(true), &options
			answer, err := send[T](ctx, c, asked, values, wanted)
			var refused *IdentityError
			// The Idempotency-Key may be that of an earlier try, which such a method answered.
			isOfNoUse := errors.As(err, &refused) && (refused.Details["member"] == "strictEvidence" || refused.Code == "IDEMPOTENCY_MISMATCH")
			if !isOfNoUse {
				return answer, err
			}
		}
	}
	return send[T](ctx, c, asked, values, content)
}

// send sends an operation until it is answered for good.
func send[T any](ctx context.Context, c *Client, asked operation, values map[string]string, content any) (answer T, err error) {
	var body []byte
	if content != nil {
		// One form, which is signed and sent.
		if body, err = Canonicalize(content); err != nil {
			return answer, err
		}
	}
	header := http.Header{}
	if asked.idempotent {
		header.Set("Idempotency-Key", uuid())
	}
	for _, name := range asked.headers {
		if value := values[name]; value != "" {
			header.Set(name, value)
		}
	}
	for attempt := 0; ; attempt++ {
		// A challenge is good for one attempt, so each has its own.
		err := c.authorize(ctx, asked, values, header, body)
		if err == nil {
			var octets []byte
			if octets, err = c.attempt(ctx, asked, values, header, body); err == nil {
				return answer, decode(octets, &answer)
			}
		}
		wait, again := pause(err, asked, attempt)
		if !again || attempt >= c.options.Retries || wait > c.options.MaxWait {
			return answer, err
		}
		select {
		case <-ctx.Done():
			return answer, ctx.Err()
		case <-time.After(wait):
		}
	}
}

// each visits the items of all pages. page fetches the page of a cursor.
func each[T any](c *Client, cursor string, page func(cursor string) ([]T, *string, error), visit func(T) error) error {
	for count := 0; count < c.options.MaxPages; count++ {
		items, next, err := page(cursor)
		if err != nil {
			return err
		}
		if items == nil {
			return unreadable(http.StatusOK, "the page has no items")
		}
		for _, item := range items {
			if err := visit(item); err != nil {
				return err
			}
		}
		if next == nil {
			return nil
		}
		if *next == "" || *next == cursor {
			return unreadable(http.StatusOK, "the page does not lead to another")
		}
		cursor = *next
	}
	return unreadable(http.StatusOK, fmt.Sprintf("the pages do not end after %d", c.options.MaxPages))
}

// authorize sets the Authorization of one attempt.
func (c *Client) authorize(ctx context.Context, asked operation, values map[string]string, header http.Header, body []byte) error {
	switch {
	case c.signer != nil && asked.scheme != "" && asked.purpose != "":
		target, err := place(asked, values)
		if err != nil {
			return err
		}
		wanted := map[string]string{"did": c.signer.DID, "purpose": asked.purpose, "target": target, "named": "true"}
		if body != nil {
			wanted["bodyHash"] = HashBody(body)
		}
		octets, err := c.attempt(ctx, getDidAuthChallengeOperation, wanted, http.Header{}, nil)
		if err != nil {
			return err
		}
		var answer struct{ Challenge any }
		if err := decode(octets, &answer); err != nil {
			return err
		}
		challenge, _ := answer.Challenge.(string)
		signed, err := SignChallenge(*c.signer, challenge, c.options.Origin, asked.purpose, wanted["bodyHash"], target)
		header.Set("Authorization", asked.scheme+" "+signed)
		return err
	case asked.keyed && c.options.APIKey != "":
		header.Set("Authorization", "ApiKey "+c.options.APIKey)
	case asked.keyed && c.options.Token != nil:
		token, err := c.options.Token(ctx)
		header.Set("Authorization", "Bearer "+token)
		return err
	}
	return nil
}

// attempt returns the bytes of the response to one request.
func (c *Client) attempt(ctx context.Context, asked operation, values map[string]string, header http.Header, body []byte) ([]byte, error) {
	target, err := place(asked, values)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, asked.method, c.options.URL+"/api/v1"+target, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header = header.Clone()
	// Nothing is unpacked: what is small when it arrives is small.
	request.Header.Set("Accept-Encoding", "identity")
	request.Header.Set("Accept", asked.forms[0])
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.options.OnRequest != nil {
		c.options.OnRequest(request)
	}
	octets, err := c.exchange(request, asked.forms)
	var known *IdentityError
	if err == nil || errors.As(err, &known) {
		return octets, err
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	message := fmt.Sprintf("%s does not answer: %v", c.options.URL, err)
	return nil, &IdentityError{Code: "UNREACHABLE", Message: message, Cause: err}
}

// place gives the path below the prefix, and the query.
func place(asked operation, values map[string]string) (string, error) {
	missing, query := "", url.Values{}
	path := placeholder.ReplaceAllStringFunc(asked.path, func(name string) string {
		value := values[strings.Trim(name, "{}")]
		if value == "" {
			missing = name
		}
		return escaped(value)
	})
	if missing != "" {
		return "", fmt.Errorf("%s needs %s", asked.path, missing)
	}
	for _, name := range asked.query {
		if value, given := values[name]; given {
			query.Set(name, value)
		}
	}
	return strings.TrimRight(path+"?"+query.Encode(), "?"), nil
}

// exchange sends a request and returns the bytes of its response, which is limited in size and has one of the forms.
func (c *Client) exchange(request *http.Request, forms []string) ([]byte, error) {
	response, err := c.options.HTTP.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if c.options.OnResponse != nil {
		shown := *response
		shown.Body = http.NoBody
		c.options.OnResponse(&shown)
	}
	status, kind := response.StatusCode, response.Header.Get("Content-Type")
	if packed := response.Header.Get("Content-Encoding"); packed != "" && packed != "identity" {
		return nil, unreadable(status, "the answer is packed")
	}
	octets, err := io.ReadAll(io.LimitReader(response.Body, c.options.MaxAnswerOctets+1))
	switch media := strings.ToLower(strings.TrimSpace(strings.SplitN(kind, ";", 2)[0])); {
	case int64(len(octets)) > c.options.MaxAnswerOctets:
		return nil, unreadable(status, fmt.Sprintf("the answer has more than %d octets", c.options.MaxAnswerOctets))
	case err != nil:
		return nil, err
	case status < 200 || status > 299:
		return nil, refusal(response, octets)
	case !contains(forms, media):
		return nil, unreadable(status, fmt.Sprintf("the answer is %q, not %s", media, forms[0]))
	}
	return octets, nil
}

// pause is how long to wait before the next attempt, where one is to be made.
func pause(err error, asked operation, attempt int) (time.Duration, bool) {
	var refused *IdentityError
	if !errors.As(err, &refused) {
		return 0, false
	}
	// Reads, and the same change under one Idempotency-Key, may be repeated.
	repeatable := asked.method == http.MethodGet || asked.idempotent
	passing := refused.Status == 502 || refused.Status == 503 || refused.Status == 504 || refused.Code == "UNREACHABLE" ||
		(refused.Status == 409 && refused.Code == "REQUEST_IN_PROGRESS")
	if refused.Status != 429 && !(repeatable && passing) {
		return 0, false
	}
	if refused.RetryAfter != nil {
		return *refused.RetryAfter, true
	}
	first := 250 * time.Millisecond << attempt
	// The clocks of two clients do not agree in nanoseconds.
	return first + time.Duration(time.Now().Nanosecond())%first, true
}

func unreadable(status int, message string) *IdentityError {
	return &IdentityError{Status: status, Code: "UNREADABLE", Message: message}
}

func refusal(response *http.Response, octets []byte) error {
	var said struct {
		Error struct {
			Code, Message string
			Details       map[string]any
		}
	}
	refused := unreadable(response.StatusCode, fmt.Sprintf("%.200s", octets))
	// A proxy before the service has other words, for example, and they are all that there is.
	if json.Unmarshal(octets, &said) == nil && said.Error.Code != "" {
		refused.Code, refused.Message, refused.Details = said.Error.Code, said.Error.Message, said.Error.Details
	}
	if wait := response.Header.Get("Retry-After"); seconds.MatchString(wait) {
		count, _ := strconv.Atoi(wait)
		refused.RetryAfter = Ptr(time.Duration(count) * time.Second)
	}
	return refused
}
