# SPDX-License-Identifier: Apache-2.0
"""Certificates for tests, made by the openssl command when they run: an authority, and what it signs."""
import datetime
import pathlib
import subprocess

SIGNING = """[ca]
default_ca = authority
[authority]
database = {folder}/{name}.index
serial = {folder}/{name}.serial
new_certs_dir = {folder}
default_md = sha256
policy = names
unique_subject = no
[names]
commonName = supplied
organizationalUnitName = optional
"""


class Authority:
    def __init__(self, folder, name="ca"):
        self.folder, self.name = pathlib.Path(folder), name
        self.certificate = self.folder / f"{name}.pem"
        self._openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                      f"/CN={name}", "-keyout", self.folder / f"{name}.key", "-out", self.certificate)

    def files(self, who, days=2, unit=None, renew=False, at=(), age=0):
        """Certificate and key, signed by this authority. `unit`: the organizational unit of its subject. `renew`: with the key as it is.
        `at`: addresses of `who` besides this machine's. `age`: days since it was made."""
        key, request, made, extra = (self.folder / f"{self.name}-{who}.{end}" for end in ("key", "csr", "crt", "ext"))
        names = ",".join(["DNS:localhost", "IP:127.0.0.1", *(f"IP:{address}" for address in at)])
        extra.write_text(f"subjectAltName={names}\nbasicConstraints=CA:FALSE\nauthorityKeyIdentifier=keyid\n")
        with_key = ["-key", key] if renew else ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key]
        self._openssl("req", "-new", *with_key, "-subj", f"/CN={who}" + (f"/OU={unit}" if unit else ""), "-out", request)
        if age:
            self._sign_aged(request, made, extra, days, age)
            return made, key
        self._openssl("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self.folder / f"{self.name}.key",
                      "-CAcreateserial", "-days", days, "-extfile", extra, "-out", made)
        return made, key

    def _sign_aged(self, request, made, extra, days, age):
        """Of the commands of openssl 3.0 only this one can say when a certificate begins."""
        configuration = self.folder / f"{self.name}.cnf"
        configuration.write_text(SIGNING.format(folder=self.folder, name=self.name))
        (self.folder / f"{self.name}.index").touch()
        now = datetime.datetime.now(datetime.timezone.utc)
        begins, ends = (f"{now + datetime.timedelta(days=d):%Y%m%d%H%M%SZ}" for d in (-age, days))
        self._openssl("ca", "-batch", "-notext", "-rand_serial", "-config", configuration, "-cert", self.certificate, "-keyfile", self.folder / f"{self.name}.key",
                      "-in", request, "-startdate", begins, "-enddate", ends, "-extfile", extra, "-out", made)

    def options(self, who, days=2, ca=None, unit=None, at=(), age=0):
        """The options of a program that shows a certificate of this authority; it takes those of `ca` (else the same)."""
        made, key = self.files(who, days, unit, at=at, age=age)
        return ["--tls-certificate", made, "--tls-key", key, "--tls-ca", (ca or self).certificate]

    @staticmethod
    def _openssl(*arguments):
        subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, timeout=120)
