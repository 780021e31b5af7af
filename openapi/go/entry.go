package identity

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"time"
)

// entry is a line of a log in the did:webvh 1.0 entry shape: what our own logs and those of did:webvh have in common.
type entry struct {
	number          int
	versionID, hash string
	time            time.Time
	parameters      object
	document        object
	proofs          []object
	// body is the entry without its proofs.
	body object
}

type object = map[string]any

// unmet is the first requirement that an entry does not meet. The functions that read logs panic with it, and VerifyLog returns it.
type unmet struct{ requirement, reason string }

const (
	hashPattern    = `Qm[1-9A-HJ-NP-Za-km-z]{44}`
	wrongSignature = "the signature of the proof is wrong"
	timePattern    = `[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}`
)

var (
	hashText      = regexp.MustCompile(`^` + hashPattern + `$`)
	versionIDText = regexp.MustCompile(`^([1-9][0-9]{0,9})-(` + hashPattern + `)$`)
	timeText      = regexp.MustCompile(`^` + timePattern + `(\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`)
)

func demand(holds bool, otherwise string) {
	if !holds {
		panic(unmet{"", otherwise})
	}
}

// taken is the value, where there is no error.
func taken[T any](value T, err error) T {
	if err != nil {
		panic(unmet{"", err.Error()})
	}
	return value
}

// meeting does work; what it refuses is refused by requirement, where nothing within it said another.
func meeting(requirement string, work func()) {
	if refused := refusalOf(work); refused != nil {
		if refused.requirement == "" {
			refused.requirement = requirement
		}
		panic(*refused)
	}
}

// refusalOf does work and gives what it refuses.
func refusalOf(work func()) (refused *unmet) {
	defer func() {
		switch said := recover().(type) {
		case nil:
		case unmet:
			refused = &said
		default:
			panic(said)
		}
	}()
	work()
	return nil
}

// errorOf does work and returns what it refuses as an error.
func errorOf(work func()) error {
	if refused := refusalOf(work); refused != nil {
		return errors.New(refused.reason)
	}
	return nil
}

// readEntry takes exactly the five members, each of its type.
func readEntry(value any) *entry {
	said := record(value)
	demand(members(said) == "parameters,proof,state,versionId,versionTime", "the entry does not have exactly the members of an entry")
	named := versionIDText.FindStringSubmatch(text(said["versionId"]))
	demand(named != nil, "the versionId is not a number and a hash")
	proofs, body := list(said["proof"]), without(said, "proof")
	demand(len(proofs) > 0, "the entry has no proof")
	read := &entry{
		number: taken(strconv.Atoi(named[1])), versionID: named[0], hash: named[2], time: instantOf(text(said["versionTime"])),
		parameters: record(said["parameters"]), document: record(said["state"]), body: body,
	}
	for _, proof := range proofs {
		read.proofs = append(read.proofs, record(proof))
	}
	return read
}

// instantOf reads RFC 3339 §5.6 with a zone. A log counts in microseconds. As in the service, leap seconds and times outside the years 1 to
// 9999 in UTC are refused.
func instantOf(said string) time.Time {
	upper := strings.ToUpper(said)
	demand(timeText.MatchString(upper) && !strings.HasPrefix(upper, "0000"), "a time is invalid")
	read := taken(time.Parse(time.RFC3339, upper)).UTC()
	demand(read.Year() >= 1 && read.Year() <= 9999, "a time is invalid")
	return read.Truncate(time.Microsecond)
}

// parseUnique reads JSON, and refuses two members of one name in an object, of which encoding/json keeps the last.
func parseUnique(octets []byte) any {
	type level struct {
		names map[string]bool
		// A name comes next, where the level is an object.
		isName bool
	}
	value := taken(parseJSON(octets))
	decoder := json.NewDecoder(bytes.NewReader(octets))
	decoder.UseNumber()
	var open []level
	for decoder.More() || len(open) > 0 {
		token := taken(decoder.Token())
		top := len(open) - 1
		if top >= 0 && open[top].isName {
			if name, is := token.(string); is {
				demand(!open[top].names[name], "an object has two members of the same name")
				open[top].names[name], open[top].isName = true, false
				continue
			}
		} else if top >= 0 && open[top].names != nil {
			open[top].isName = true
		}
		switch token {
		case json.Delim('{'):
			open = append(open, level{map[string]bool{}, true})
		case json.Delim('['):
			open = append(open, level{})
		case json.Delim('}'), json.Delim(']'):
			open = open[:top]
		}
	}
	return value
}

// checkOrder checks that an entry may follow a state.
func checkOrder(before *state, said *entry) {
	if before == nil {
		demand(said.number == 1, "the first entry has another number")
		return
	}
	demand(said.number == before.number+1, "the entry does not have the next number")
	demand(said.time.After(before.time), "the entry is not later than the one before")
	demand(!before.deactivated, "the DID was deactivated before")
}

// checkFirstHash: the identifier is the hash of the first entry with a placeholder at each occurrence; the hash of the entry covers it with the
// identifier put in.
func (e *entry) checkFirstHash(scid string) {
	octets := e.placed(scid)
	if multihash(bytes.ReplaceAll(octets, []byte(scid), []byte("{SCID}"))) != scid {
		panic(unmet{"identifier", "the identifier does not follow from the first entry"})
	}
	demand(multihash(octets) == e.hash, "the hash does not fit the entry")
}

// checkNextHash: the hash of a later entry covers it with the versionId of its predecessor in place of its own.
func (e *entry) checkNextHash(predecessor string) {
	demand(multihash(e.placed(predecessor)) == e.hash, "the hash does not fit the entry")
}

// placed is the canonical form of the body with another versionId.
func (e *entry) placed(versionID string) []byte {
	copied := without(e.body, "versionId")
	copied["versionId"] = versionID
	return taken(Canonicalize(copied))
}

// checkProof gives the one of signers that made a good proof of body: eddsa-jcs-2022 (VC Data Integrity EdDSA 1.0 §3.3) by a did:key.
func checkProof(proof, body object, signers []string) string {
	isRight := proof["type"] == "DataIntegrityProof" && proof["cryptosuite"] == "eddsa-jcs-2022"
	demand(isRight && proof["proofPurpose"] == "assertionMethod", "the proof is of another type, cryptosuite or purpose")
	method, _ := proof["verificationMethod"].(string)
	key := strings.TrimPrefix(strings.SplitN(method, "#", 2)[0], "did:key:")
	// Body and fragment must be the same key: some readers look at one, some at the other.
	if !contains(signers, key) || method != "did:key:"+key+"#"+key {
		panic(unmet{"keys", "the proof is by a key that may not sign this entry"})
	}
	value, _ := proof["proofValue"].(string)
	demand(strings.HasPrefix(value, "z"), wrongSignature)
	signature := taken(base58Decode(value[1:]))
	signed, content := taken(Canonicalize(without(proof, "proofValue"))), taken(Canonicalize(body))
	demand(taken(verifies(key, append(sha256Of(signed), sha256Of(content)...), signature)), wrongSignature)
	return key
}

func record(value any) object {
	found, is := value.(object)
	demand(is, "a part of the log is not an object")
	return found
}

func text(value any) string {
	found, is := value.(string)
	demand(is, "a part of the log is not text")
	return found
}

func list(value any) []any {
	found, is := value.([]any)
	demand(is, "a part of the log is not a list")
	return found
}

// texts reads a list of texts, none of them twice.
func texts(value any) []string {
	found := []string{}
	for _, item := range list(value) {
		one := text(item)
		demand(!contains(found, one), "a list has something twice")
		found = append(found, one)
	}
	return found
}

func has(value object, name string) bool {
	_, is := value[name]
	return is
}

// members are the names of an object in order, but for those left out.
func members(value object, left ...string) string {
	names := []string{}
	for name := range value {
		if !contains(left, name) {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return strings.Join(names, ",")
}

func without(value object, name string) object {
	copied := object{}
	for each, member := range value {
		if each != name {
			copied[each] = member
		}
	}
	return copied
}

// same compares JSON values: == would panic where both are lists.
func same(one, other any) bool {
	return bytes.Equal(taken(Canonicalize(one)), taken(Canonicalize(other)))
}

func contains(texts []string, wanted string) bool {
	for _, text := range texts {
		if text == wanted {
			return true
		}
	}
	return false
}
