package identity

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"regexp"
	"strconv"
	"strings"
)

const statusEntries = 131_072

var placeText = regexp.MustCompile(`^(?:0|[1-9][0-9]{0,5})$`)

// ReadStatus reports whether the credential with the entry in its credentialStatus is revoked, or suspended, by the answer of GetStatusList
// (Bitstring Status List 1.0 §3.2), without asking the service; list may be the text of one, too, as json.RawMessage. signers may sign it: the
// UpdateKeys of a log that was verified. A list does not contain later changes. ReadStatus fails unless it is the list
// that the entry names, and by one of them.
func ReadStatus(list any, entry CredentialStatusEntry, signers []string) (bool, error) {
	octets, err := json.Marshal(list)
	if err != nil {
		return false, err
	}
	isSet := false
	err = errorOf(func() {
		said := record(parseUnique(octets))
		body, proof, subject := without(said, "proof"), record(said["proof"]), record(said["credentialSubject"])
		isThatList := entry.Type == "BitstringStatusListEntry" && body["id"] == entry.StatusListCredential
		isThatList = isThatList && contains(texts(body["type"]), "BitstringStatusListCredential")
		demand(isThatList && subject["statusPurpose"] == entry.StatusPurpose, "the list is not the one of the entry")
		signer := checkProof(proof, body, signers)
		isOfIssuer := body["issuer"] == "did:key:"+signer && same(proof["@context"], body["@context"])
		demand(isOfIssuer, "the proof is not the issuer's, or of another context")
		bits := unpacked(text(subject["encodedList"]))
		demand(placeText.MatchString(entry.StatusListIndex), "the place in the list is not a number")
		place := taken(strconv.Atoi(entry.StatusListIndex))
		demand(place < statusEntries, "the list has no such place")
		isSet = bits[place/8]&(0x80>>(place%8)) != 0
	})
	return isSet && err == nil, err
}

// unpacked has the bits; no more of them are unpacked than a list has.
func unpacked(encoded string) []byte {
	demand(strings.HasPrefix(encoded, "u"), "the bits are not multibase base64url")
	packed := bytes.NewReader(base64urlDecode(encoded[1:]))
	unpacking := taken(gzip.NewReader(packed))
	unpacking.Multistream(false)
	bits := taken(io.ReadAll(io.LimitReader(unpacking, statusEntries/8+1)))
	demand(len(bits) == statusEntries/8 && packed.Len() == 0, "the list has another number of bits")
	return bits
}
