"""Results become panels."""
