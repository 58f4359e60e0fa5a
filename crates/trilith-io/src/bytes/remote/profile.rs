//! The shared files of AWS: the selected profile, and its settings other than credentials.

use ini::Ini;

use super::credential_context::EnvVars;
use crate::error::{Error, Result, ResultExt};

/// The content of the shared files.
#[derive(Default)]
pub(super) struct AwsProfiles {
    /// The profile that is meant.
    pub(super) name: String,
    /// `true` if the user chose it.
    pub(super) chosen: bool,
    /// The endpoint of single sign-on, if it is not that of Amazon.
    pub(super) sso_endpoint: Option<String>,
    config: Ini,
    credentials: Ini,
    /// The text of both, to detect changes.
    pub(super) text: Vec<u8>,
}

impl AwsProfiles {
    /// Reads the files that the variables name, or those in the home directory.
    ///
    /// # Errors
    /// Returns `Io` if a file cannot be read, and `Malformed` if it is none of these files.
    pub(super) fn read_files(variables: &EnvVars, profile: Option<&str>) -> Result<Self> {
        let chosen = profile.or_else(|| variables.get(&["AWS_PROFILE", "AWS_DEFAULT_PROFILE"]));
        let mut text = Vec::new();
        let mut read = |variable: &str, beside: &str| -> Result<Ini> {
            let Some(path) = variables.resolve_user_path(variable, beside).filter(|path| path.is_file()) else {
                return Ok(Ini::new());
            };
            let own = super::super::read_text(&path, 1 << 20).with_context(|| format!("reading {}", path.display()))?;
            text.extend_from_slice(&own);
            Ini::load_from_str(&String::from_utf8_lossy(&own)).map_err(|error| {
                Error::malformed(format!("line {}: {}", error.line, error.msg)).context(format!("reading {}", path.display()))
            })
        };
        let config = read("AWS_CONFIG_FILE", ".aws/config")?;
        let credentials = read("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials")?;
        let sso_endpoint = variables.get(&["AWS_ENDPOINT_URL_SSO"]);
        let sso_endpoint = sso_endpoint.map(|endpoint| format!("{}/federation/credentials", endpoint.trim_end_matches('/')));
        Ok(Self {
            name: chosen.unwrap_or("default").to_owned(),
            chosen: chosen.is_some(),
            sso_endpoint,
            config,
            credentials,
            text,
        })
    }

    /// Returns `InvalidInput` if somebody chose a profile that neither file has.
    pub(super) fn check_chosen_profile(&self) -> Result<()> {
        let section = format!("profile {}", self.name);
        let names = [self.name.as_str(), section.as_str()];
        let is_there =
            names.iter().any(|name| self.credentials.section(Some(*name)).or(self.config.section(Some(*name))).is_some());
        if self.chosen && !is_there {
            let message = format!("there is no AWS profile {:?}", self.name);
            return Err(Error::invalid_input(message).hint("`aws configure list-profiles` names those that there are"));
        }
        Ok(())
    }

    /// The value of a key in a profile.
    pub(super) fn profile_value(&self, profile: &str, key: &str) -> Option<String> {
        let section = if profile == "default" { profile.to_owned() } else { format!("profile {profile}") };
        let found = self.credentials.get_from(Some(profile), key).or_else(|| self.config.get_from(Some(section.as_str()), key));
        found.filter(|value| !value.is_empty()).map(str::to_owned)
    }

    /// The value of a key in a section of single sign-on.
    pub(super) fn of_session(&self, session: &str, key: &str) -> Option<String> {
        self.config.get_from(Some(format!("sso-session {session}")), key).map(str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::disallowed_methods, reason = "the files of another program")]
    fn profile_merges_config_and_credentials_files() {
        let config = "[default]\nregion = us-west-2\n\n[profile other]\nregion = eu-west-1\ns3 =\n    endpoint_url = https://nested.example\n\
                      sso_session = mine\n[sso-session mine]\nsso_region = eu-central-1\n";
        let credentials = "[other]\naws_access_key_id=C\nendpoint_url = https://own.example\n";
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(".aws")).unwrap();
        std::fs::write(folder.path().join(".aws/config"), config).unwrap();
        std::fs::write(folder.path().join(".aws/credentials"), credentials).unwrap();
        let home = folder.path().to_string_lossy().into_owned();
        let variables = EnvVars([("HOME".to_owned(), home)].into());
        let profiles = AwsProfiles::read_files(&variables, Some("other")).unwrap();
        assert_eq!(profiles.profile_value("other", "region").as_deref(), Some("eu-west-1"));
        assert_eq!(profiles.profile_value("other", "endpoint_url").as_deref(), Some("https://own.example"));
        assert_eq!(profiles.profile_value("default", "region").as_deref(), Some("us-west-2"));
        assert_eq!(profiles.of_session("mine", "sso_region").as_deref(), Some("eu-central-1"));
        assert!(
            profiles.check_chosen_profile().is_ok()
                && AwsProfiles::read_files(&variables, Some("none")).unwrap().check_chosen_profile().is_err()
        );
        assert!(profiles.chosen && !AwsProfiles::read_files(&variables, None).unwrap().chosen);
    }
}
